-- High and low of each symbol on each exchange over two hours, every 30 minutes.
SELECT symbol, exchange, window.end AS at,
       max(price) AS high,
       min(price) AS low
FROM trades
GROUP BY symbol, exchange, window(ts, '2 hours', '30 minutes')
