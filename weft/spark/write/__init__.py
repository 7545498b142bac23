"""Writing results: answer parts in, one folder a query out, and nothing replaced that Weft did not write.

`guard.py` looks before anything runs, `staging.py` moves folders into place, `owned.py` tells what is Weft's own.
"""
