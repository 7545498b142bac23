"""Slicers: how a stream is cut into slices that all windows can be folded from."""

from weft.slicing.pairs import slice_start

__all__ = ["slice_start"]
