-- Average trade size and large trades of each exchange over an hour, every minute.
SELECT exchange, window.end AS at,
       avg(volume) AS trade_size,
       count_if(volume >= 1000) AS blocks,
       count(*) AS trades
FROM trades
GROUP BY exchange, window(ts, '60 minutes', '1 minute')
