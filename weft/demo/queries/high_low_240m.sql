-- Highest and lowest price of the last four hours, every 5 minutes.
SELECT symbol, window.end AS at,
       max(price) AS high,
       min(price) AS low
FROM trades
GROUP BY symbol, window(ts, '4 hours', '5 minutes')
