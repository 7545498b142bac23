-- Return over the last two hours, in percent, every 10 minutes.
SELECT symbol, window.end AS at,
       100 * (max_by(price, ts) / min_by(price, ts) - 1) AS momentum
FROM trades
GROUP BY symbol, window(ts, '2 hours', '10 minutes')
