-- Hours that begin five minutes past each quarter: volume-weighted price and volume.
SELECT symbol, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap,
       sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '1 hour', '15 minutes', '5 minutes')
