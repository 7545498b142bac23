-- Slope of the price in cents a minute by least squares over two hours, every 10 minutes.
SELECT symbol, window.end AS at,
       100 * covar_pop(price, unix_micros(ts) % 86400000000 / 6e7)
           / nullif(var_pop(unix_micros(ts) % 86400000000 / 6e7), 0) AS cents_a_minute
FROM trades
GROUP BY symbol, window(ts, '2 hours', '10 minutes')
HAVING count(*) >= 5
