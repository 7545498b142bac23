-- Several queries in one file: each begins with a line that names it.

-- name: range_10m
SELECT symbol, window.start AS window_start, window.end AS window_end, min(price) AS low, max(price) AS high
FROM trades
GROUP BY symbol, window(ts, '10 minutes', '1 minute')

-- name: range_2h
SELECT symbol, window.start AS window_start, window.end AS window_end, min(price) AS low, max(price) AS high
FROM trades
GROUP BY symbol, window(ts, '2 hours', '5 minutes')
