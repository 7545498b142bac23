"""Final aggregation: slices in, answers out, arrays only and no Spark.

`algorithms/` fold a line of slices, `fold/` brings ragged slices of many keys to them, `bags/` answer what does not
fold, `rows/` count rows, `project/` computes the outputs of answers, and `state/` is what a stream keeps of all this
between two triggers.
"""
