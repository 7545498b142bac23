-- Share of each symbol's trades on the two largest exchanges over 30 minutes, every 5 minutes.
SELECT symbol, window.end AS at,
       count(*) FILTER (WHERE exchange = 1) / count(*) AS share_1,
       count(*) FILTER (WHERE exchange = 2) / count(*) AS share_2
FROM trades
GROUP BY symbol, window(ts, '30 minutes', '5 minutes')
