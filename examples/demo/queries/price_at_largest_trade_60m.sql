-- Size and price of the trade of the highest value in the last hour, every 5 minutes.
SELECT symbol, window.end AS at,
       max_by(volume, price * volume) AS volume,
       max_by(price, price * volume) AS price
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '5 minutes')
