"""The plan on Spark: sessions, the analyser, and the runners of batches, streams and incremental runs.

In come stages and DataFrames, out go DataFrames, files and running streams. Only these rooms and `io/` import
pyspark.
"""
