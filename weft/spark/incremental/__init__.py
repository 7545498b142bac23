"""Incremental runs: slices of files seen before come from a cache, only new files are aggregated.

In come partial stages and a snapshot of each source, out come slices.
"""
