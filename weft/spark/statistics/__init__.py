"""How large things are: rows, keys and slices, measured, sampled, or observed while a run goes on.

In come DataFrames and groupings, out come sizes by which plans are priced.
"""
