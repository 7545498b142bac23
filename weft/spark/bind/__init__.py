"""Binding: a parsed query in, a bound query out, with names, types and errors as Spark's own analyser gives them.

`check.py` asks the analyser; `functions.py` makes users' aggregates known to Spark.
"""
