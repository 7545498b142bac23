-- Large trades: volume-weighted price over two hours, every 5 minutes.
SELECT symbol, window.end AS at,
       sum(price * volume) / sum(volume) AS vwap
FROM trades
WHERE volume >= 1000
GROUP BY symbol, window(ts, '2 hours', '5 minutes')
