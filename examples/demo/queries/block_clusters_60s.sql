-- Large trades in clusters: at least three within a minute, looked for every 10 seconds.
SELECT symbol, window.end AS at,
       count(*) AS blocks,
       sum(volume) AS volume,
       max(price) - min(price) AS spread
FROM trades
WHERE volume >= 1000
GROUP BY symbol, window(ts, '60 seconds', '10 seconds')
HAVING count(*) >= 3
