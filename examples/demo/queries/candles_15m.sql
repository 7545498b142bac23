-- Open, high, low, close and volume of each 15 minutes.
SELECT symbol, window.end AS at,
       min_by(price, ts) AS open,
       max(price) AS high,
       min(price) AS low,
       max_by(price, ts) AS close,
       sum(volume) AS volume
FROM trades
GROUP BY symbol, window(ts, '15 minutes')
