"""Refreshing: answers that lie in a folder brought up to date, bucket of time by bucket, and nothing else written.

In come kept slices and what a query's mark says of its rows; out come the rows of the windows that new slices touch.
"""
