-- Average and volume over 25 minutes, every 10 minutes: the range is no multiple of the slide.
SELECT symbol, window.end AS at,
       avg(price) AS average,
       sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '25 minutes', '10 minutes')
