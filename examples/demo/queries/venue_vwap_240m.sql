-- Volume-weighted price of each symbol on each exchange over four hours, every 30 minutes.
SELECT symbol, exchange, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap,
       count(*) AS trades
FROM trades
GROUP BY symbol, exchange, window(ts, '4 hours', '30 minutes')
