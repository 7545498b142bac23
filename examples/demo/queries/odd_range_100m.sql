-- Average and volume over 100 minutes, every 15 minutes: the range is no multiple of the slide.
SELECT symbol, window.end AS at,
       avg(price) AS average,
       sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '100 minutes', '15 minutes')
