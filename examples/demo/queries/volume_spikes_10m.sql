-- Volume spikes: the largest trade is more than half of ten minutes' volume of at least 20 trades.
SELECT symbol, window.end AS at,
       sum(volume) AS volume,
       max(volume) AS largest,
       max_by(price, price * volume) AS price_of_largest
FROM trades
GROUP BY symbol, window(ts, '10 minutes', '1 minute')
HAVING count(*) >= 20 AND max(volume) > 0.5 * sum(volume)
