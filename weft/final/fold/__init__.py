"""Folding: Arrow columns of one partition's slices in, Arrow batches of answers out.

`dense.py` lays slices on a line of cells and slides windows along it; `ragged.py` reads windows off slices of unequal
length, as streams have them. `lanes.py` turns columns into arrays and back.
"""
