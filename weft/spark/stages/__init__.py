"""The stages as Spark runs them: rows to slices, slices to answers, answers to output rows.

Batches and streams share these functions; each takes a DataFrame and a stage and gives a DataFrame.
"""
