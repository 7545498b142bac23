-- The volume-weighted average price of the last half hour, every five minutes.
SELECT
  symbol,
  window.start AS window_start,
  window.end AS window_end,
  sum(price * volume) / sum(volume) AS vwap,
  sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '30 minutes', '5 minutes')
