-- Average and volume over 7 minutes, every 2 minutes: the range is no multiple of the slide.
SELECT symbol, window.end AS at,
       avg(price) AS average,
       sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '7 minutes', '2 minutes')
