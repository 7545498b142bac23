"""Compaction: many small files of a stream's sink in, few large ones with the same rows out, at once for readers.

`choice.py` says which files become one, `merge.py` writes it, `swap.py` puts it in their place, `run.py` is the way
through, in steps after each of which the process may be killed. See decision 0025.
"""
