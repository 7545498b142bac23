-- Trades and volume of each exchange over 100 seconds, every 15 seconds: the range is no multiple of the slide.
SELECT exchange, window.end AS at,
       count(*) AS trades,
       sum(volume) AS volume
FROM trades
GROUP BY exchange, window(ts, '100 seconds', '15 seconds')
