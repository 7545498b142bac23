"""What a stream keeps of a bucket of keys: open slices, and the past in levels.

New slices and the watermark go in; the answers of windows that are now over come out. What is kept lies as bytes in a
store of blobs, which Spark's state store is.
"""
