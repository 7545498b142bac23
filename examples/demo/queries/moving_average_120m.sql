-- Moving average of the price over 120 minutes, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS average
FROM trades
GROUP BY symbol, window(ts, '120 minutes', '1 minute')
