-- Range of the price for each million of turnover over an hour, every 10 minutes.
SELECT symbol, window.end AS at,
       1e6 * (max(price) - min(price)) / sum(price * volume) AS illiquidity
FROM trades
GROUP BY symbol, window(ts, '60 minutes', '10 minutes')
