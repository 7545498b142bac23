-- Moving average of the price over 5 minutes, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS average
FROM trades
GROUP BY symbol, window(ts, '5 minutes', '1 minute')
