-- Turnover and trades over 100 minutes, every 15 minutes: the range is no multiple of the slide.
SELECT symbol, window.end AS at,
       sum(price * volume) AS turnover,
       count(*) AS trades
FROM trades
GROUP BY symbol, window(ts, '100 minutes', '15 minutes')
