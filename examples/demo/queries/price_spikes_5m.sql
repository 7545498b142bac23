-- Price spikes: more than 3 percent between the low and the high of five minutes.
SELECT symbol, window.end AS at,
       min(price) AS low,
       max(price) AS high,
       count(*) AS trades
FROM trades
GROUP BY symbol, window(ts, '5 minutes', '1 minute')
HAVING max(price) > 1.03 * min(price)
