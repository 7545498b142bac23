-- Moving average of the price over 10 minutes, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS average
FROM trades
GROUP BY symbol, window(ts, '10 minutes', '1 minute')
