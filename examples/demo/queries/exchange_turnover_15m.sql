-- Turnover, volume and trades of each exchange for each 15 minutes.
SELECT exchange, window.end AS at,
       sum(price * volume) AS turnover,
       sum(volume) AS volume,
       count(*) AS trades
FROM trades
GROUP BY exchange, window(ts, '15 minutes')
