-- Volume-weighted average price of hours that begin five minutes past each quarter.
SELECT symbol, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap
FROM trades
GROUP BY symbol, window(ts, '1 hour', '15 minutes', '5 minutes')
