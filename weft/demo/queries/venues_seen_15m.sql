-- Which exchanges a symbol traded on, as a bit mask, over 15 minutes, every 5 minutes.
SELECT symbol, window.end AS at,
       bit_or(shiftleft(1, exchange)) AS venues,
       count(*) AS trades
FROM trades
GROUP BY symbol, window(ts, '15 minutes', '5 minutes')
