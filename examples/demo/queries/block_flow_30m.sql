-- Large trades: number, volume and average price over 30 minutes, every minute.
SELECT symbol, window.end AS at,
       count(*) AS blocks,
       sum(volume) AS volume,
       avg(price) AS average
FROM trades
WHERE volume >= 1000
GROUP BY symbol, window(ts, '30 minutes', '1 minute')
