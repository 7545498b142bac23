"""Joins of streams: streams and predicates in, for each order of joining what it takes and gives out (004 §3, §4)."""
