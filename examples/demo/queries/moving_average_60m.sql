-- Moving average of the price over 60 minutes, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS average
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '1 minute')
