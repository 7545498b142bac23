-- Turnover of the whole market and of three of its exchanges over 5 minutes, every 30 seconds.
SELECT window.end AS at,
       sum(price * volume) AS turnover,
       sum(price * volume) FILTER (WHERE exchange = 1) AS turnover_1,
       sum(price * volume) FILTER (WHERE exchange = 2) AS turnover_2,
       sum(price * volume) FILTER (WHERE exchange = 3) AS turnover_3
FROM trades
GROUP BY window(ts, '5 minutes', '30 seconds')
