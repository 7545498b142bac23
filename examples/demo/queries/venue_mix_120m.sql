-- Where a symbol traded over two hours, every 10 minutes: venues as a bit mask, shares of the two largest, odd lots, blocks.
SELECT symbol, window.end AS at,
       bit_or(shiftleft(1, exchange)) AS venues,
       count(*) FILTER (WHERE exchange = 1) / count(*) AS share_1,
       count(*) FILTER (WHERE exchange = 2) / count(*) AS share_2,
       count_if(volume % 100 <> 0) / count(*) AS odd_lots,
       bool_or(volume >= 100000) AS has_block
FROM trades
GROUP BY symbol, window(ts, '2 hours', '10 minutes')
