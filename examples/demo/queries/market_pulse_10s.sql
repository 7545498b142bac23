-- Trades and volume of the whole market over 10 seconds, every 2 seconds.
SELECT window.end AS at,
       count(*) AS trades,
       sum(volume) AS volume,
       max(volume) AS largest
FROM trades
GROUP BY window(ts, '10 seconds', '2 seconds')
