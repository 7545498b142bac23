-- Moving average of the price over 30 minutes, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS average
FROM trades
GROUP BY symbol, window(ts, '30 minutes', '1 minute')
