-- Skewness and kurtosis of the price over two hours, every 10 minutes.
SELECT symbol, window.end AS at,
       skewness(price) AS skewness,
       kurtosis(price) AS kurtosis
FROM trades
GROUP BY symbol, window(ts, '2 hours', '10 minutes')
HAVING count(*) >= 20
