"""Output rows made in the worker: slices of a partition in, rows of queries out, to Parquet files or to nobody.

What a projection computes is in `final/project`; here its answers are found, its rows named and written. Spark gets
back only how many rows each query has and in which file.
"""
