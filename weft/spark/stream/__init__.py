"""Streams: stages and streaming sources in, a running stream out that answers windows as the watermark closes them.

`start.py` begins one from its checkpoint, `flow.py` is the DataFrame of a scan, `state.py` what it keeps, `outputs.py`
which output rows workers make, `deliver.py` takes each trigger to one of the `sinks.py`, `handle.py` is what the caller
holds, and `metrics.py` what is told of every trigger.
"""
