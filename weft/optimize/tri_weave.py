"""TriWeave: Weave Share over one partial stage that passes its slices to every tree (001 §3.1.1)."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.weave_share import group

tri_weave = Optimizer(
    "tri_weave", "TriWeave", "As Weave Share, but one partial stage cuts at all edges and every tree takes its slices.",
    "001 §3.1.1", group, shared=True,
)
