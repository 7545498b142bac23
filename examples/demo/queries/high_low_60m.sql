-- Highest and lowest price of the last hour and the distance between them, every 5 minutes.
SELECT symbol, window.end AS at,
       max(price) AS high,
       min(price) AS low,
       max(price) - min(price) AS spread
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '5 minutes')
