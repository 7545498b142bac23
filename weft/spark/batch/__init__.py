"""Batches: stages in, a lazy DataFrame a query or written files out, and the comparison with Spark's own answers."""
