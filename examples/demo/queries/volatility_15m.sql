-- Standard deviation of the price over 15 minutes, in percent of its mean, every minute.
SELECT symbol, window.end AS at,
       100 * stddev_samp(price) / avg(price) AS volatility
FROM trades
GROUP BY symbol, window(ts, '15 minutes', '1 minute')
HAVING count(*) >= 5
