-- Large trades within 45 seconds that move the price, every 10 seconds: the range is no multiple of the slide.
SELECT symbol, window.end AS at,
       min_by(price, ts) AS first,
       max_by(price, ts) AS last,
       sum(volume) AS volume
FROM trades
WHERE volume >= 1000
GROUP BY symbol, window(ts, '45 seconds', '10 seconds')
HAVING abs(max_by(price, ts) - min_by(price, ts)) > 0.002 * min(price)
