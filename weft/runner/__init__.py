"""The runner: queries with bounds run by a schedule, day and night, one runner a store; nothing here knows Spark.

In: queries and what runs of them cost, a function that runs some of them, a clock. Out: runs as they are over, and in
the catalog what a runner that comes after must know.
"""
