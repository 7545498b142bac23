-- What each exchange trades; the range is no multiple of the slide, and need not be.
SELECT
  exchange,
  window.start AS window_start,
  window.end AS window_end,
  count(*) AS trades,
  sum(price * volume) AS turnover
FROM trades
WHERE price > 0
GROUP BY exchange, window(ts, '25 minutes', '10 minutes')
