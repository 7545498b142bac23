-- How far prices spread in an hour. It shares its slices and its sums with the other queries by symbol.
SELECT
  symbol,
  window.start AS window_start,
  window.end AS window_end,
  avg(price) AS mean,
  stddev(price) AS spread,
  max(price) - min(price) AS distance
FROM trades
GROUP BY symbol, window(ts, '1 hour', '5 minutes')
HAVING count(*) >= 2
