-- How price and volume move together in an hour, every 5 minutes.
SELECT symbol, window.end AS at,
       corr(price, volume) AS correlation,
       covar_samp(price, volume) AS covariance
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '5 minutes')
HAVING count(*) >= 10
