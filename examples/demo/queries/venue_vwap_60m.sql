-- Volume-weighted price of each symbol on each exchange over an hour, every 15 minutes.
SELECT symbol, exchange, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap,
       count(*) AS trades
FROM trades
GROUP BY symbol, exchange, window(ts, '60 minutes', '15 minutes')
