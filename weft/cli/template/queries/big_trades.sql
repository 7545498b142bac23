-- Windows in which large trades stand out; FILTER counts them without a second scan.
SELECT
  symbol,
  window.start AS window_start,
  window.end AS window_end,
  count(*) AS trades,
  count(*) FILTER (WHERE volume >= 1000) AS big_trades,
  max_by(price, volume) AS price_of_biggest
FROM trades
GROUP BY symbol, window(ts, '15 minutes', '5 minutes')
HAVING count(*) FILTER (WHERE volume >= 1000) > 0
