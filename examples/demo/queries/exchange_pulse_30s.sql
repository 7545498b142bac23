-- Trades and volume of each exchange over 30 seconds, every 5 seconds.
SELECT exchange, window.end AS at,
       count(*) AS trades,
       sum(volume) AS volume
FROM trades
GROUP BY exchange, window(ts, '30 seconds', '5 seconds')
