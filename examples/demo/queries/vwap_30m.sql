-- Volume-weighted average price over 30 minutes, every minute.
SELECT symbol, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap
FROM trades
GROUP BY symbol, window(ts, '30 minutes', '1 minute')
