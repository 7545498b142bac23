-- Signals: the last price stands more than 2.5 standard deviations from its 20 minute average.
SELECT symbol, window.end AS at,
       max_by(price, ts) AS last,
       avg(price) AS average,
       (max_by(price, ts) - avg(price)) / nullif(stddev_samp(price), 0) AS distance
FROM trades
GROUP BY symbol, window(ts, '20 minutes', '1 minute')
HAVING count(*) >= 20 AND abs(max_by(price, ts) - avg(price)) > 2.5 * stddev_samp(price)
