"""Optimizers: which queries share which scan and tree. To add one: one file and one line."""

from weft.optimize.share_all import share_all

OPTIMIZERS = (share_all,)

__all__ = ["OPTIMIZERS", "share_all"]
