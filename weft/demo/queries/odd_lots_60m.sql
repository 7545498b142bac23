-- Share of trades that are no round lot over an hour, every 10 minutes.
SELECT symbol, window.end AS at,
       count_if(volume % 100 <> 0) / count(*) AS odd_lots,
       bool_or(volume >= 100000) AS has_block
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '10 minutes')
