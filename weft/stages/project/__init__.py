"""Answer stages to projections that workers evaluate: SQL in, typed expressions out, or why Spark has to do it."""

from __future__ import annotations

from weft.stages.project.answers import NotCovered, compile_projection

__all__ = ["NotCovered", "compile_projection"]
