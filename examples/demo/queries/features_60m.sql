-- Features for a model: what 60 minutes of a symbol look like, every 5 minutes.
SELECT symbol, window.end AS at,
       count(*) AS trades,
       avg(price) AS price_mean,
       stddev_samp(price) AS price_stddev,
       min(price) AS price_min,
       max(price) AS price_max,
       max_by(price, ts) AS price_last,
       sum(volume) AS volume_sum,
       avg(volume) AS volume_mean,
       max(volume) AS volume_max
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '5 minutes')
