-- Bollinger bands: two standard deviations around the 20 minute average, every minute.
SELECT symbol, window.end AS at,
       avg(price) AS middle,
       avg(price) - 2 * stddev_pop(price) AS lower,
       avg(price) + 2 * stddev_pop(price) AS upper
FROM trades
GROUP BY symbol, window(ts, '20 minutes', '1 minute')
HAVING count(*) >= 10
