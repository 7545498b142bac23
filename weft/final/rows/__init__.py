"""Windows that count rows: which windows are whole, and the rows of a stream that a watermark lets count.

Rows and the watermark go in; rows with their numbers come out, and those that later windows need stay in chunks.
"""
