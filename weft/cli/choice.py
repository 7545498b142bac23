"""What the user insists on when a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PlanOptions:
    """Final algorithms as the command line spells them, an optimizer, a slicer, and whether sources are measured first.

    `store` is the folder of the catalog that plans read and runs write, "" for none.
    """

    algorithms: Sequence[str] = ()
    optimizer: str | None = None
    measure: bool = False
    store: str | None = None
    slicer: str | None = None
