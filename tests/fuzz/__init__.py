"""The fuzzer: random window queries over random tables in random sessions, run by Weft and by Spark, and compared.

`draw.py` makes a `Case` (`case.py`), a plain value, of a seed and a number. `check.py` runs it in one of the ways of
`runs.py` and compares it with Spark's own rows (`rows.py`). `shrink.py` makes a failing case smaller, `script.py`
writes it as a program, and `__main__.py` does all of this for as long as one likes.
"""
