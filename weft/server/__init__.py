"""Weft over HTTP."""
