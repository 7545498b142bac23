"""Projections in the worker: calls, HAVING and outputs over columns of answers, bit for bit as Spark computes them.

A `Projection` is compiled from an answer stage on the driver (`weft/stages/project`), and only where every
expression is of the few kinds here; `evaluate` runs it over `AnswerColumns`. Where Spark would raise an error, or may,
it raises `NeedsSpark`, and the answers are Spark's to project.
"""

from __future__ import annotations

from weft.final.project.evaluate import evaluate
from weft.final.project.projection import AnswerColumns, AnswerValues, Projection, Take, take_answers, valid_where
from weft.final.project.vector import NeedsSpark

__all__ = ["AnswerColumns", "AnswerValues", "NeedsSpark", "Projection", "Take", "evaluate", "take_answers",
           "valid_where"]
