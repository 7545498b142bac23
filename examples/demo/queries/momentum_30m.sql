-- Return over the last half hour, in percent, every 5 minutes.
SELECT symbol, window.end AS at,
       100 * (max_by(price, ts) / min_by(price, ts) - 1) AS momentum
FROM trades
GROUP BY symbol, window(ts, '30 minutes', '5 minutes')
