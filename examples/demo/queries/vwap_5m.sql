-- Volume-weighted average price over 5 minutes, every minute.
SELECT symbol, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap
FROM trades
GROUP BY symbol, window(ts, '5 minutes', '1 minute')
