"""SQL over answers to the expressions that a worker evaluates as Spark does, with the types that Spark gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.final.project.columns import AnswerScope
from weft.final.project.projection import AnswerColumns, Projection
from weft.final.project.tree import Node
from weft.final.project.vector import DTYPES
from weft.sql.dialect import VERBATIM
from weft.sql.precedence import as_spark_groups
from weft.stages.project.coercion import NotCoveredError, is_constant
from weft.stages.project.decimals import Scaled
from weft.stages.project.functions import FUNCTION_BUILDERS
from weft.stages.project.operators import OPERATOR_BUILDERS

BUILDERS = (*OPERATOR_BUILDERS, *FUNCTION_BUILDERS)


@dataclass(frozen=True)
class Compiler:
    """Makes nodes of SQL texts over `columns`, by name in lower case; equal texts are one node, computed once."""

    columns: Mapping[str, Node]
    ansi: bool
    made: dict[str, Node] = field(default_factory=dict)

    def compile(self, sql: str) -> Node:
        """The expression that a text means."""
        return self.node(parse_expression(sql))

    def give(self, sql: str, node: Node) -> None:
        """Let an expression be a node that is known, wherever it stands."""
        self.made[parse_expression(sql).sql(dialect=VERBATIM)] = node

    def node(self, tree: exp.Expr) -> Node:
        """The node of a tree; one that reads nothing must not raise, for Spark computes it before any answer."""
        tree = tree.unnest()
        text = tree.sql(dialect=VERBATIM)
        if text not in self.made:
            if not as_spark_groups(tree):
                raise NotCoveredError(f"'{text}' needs parentheses")
            made = self.build(tree, text)
            require_sound(made, text)
            self.made[text] = made
        return self.made[text]

    def build(self, tree: exp.Expr, text: str) -> Node:
        """The node of a tree, by the kind of it."""
        for kinds, build in BUILDERS:
            if isinstance(tree, kinds):
                return build(self, tree)
        raise NotCoveredError(f"'{text}' is not among the expressions that workers evaluate")

    def nodes(self, trees: Iterable[exp.Expr]) -> list[Node]:
        """The nodes of several trees."""
        return [self.node(tree) for tree in trees]


def parse_expression(sql: str) -> exp.Expr:
    """The tree of a text; what an escape means in it Spark's settings say."""
    if "\\" in sql:
        raise NotCoveredError(f"'{sql}' has a backslash")
    try:
        trees = VERBATIM.parser().parse(VERBATIM.tokenize(sql), sql)
    except SqlglotError:
        trees = []
    if len(trees) != 1 or trees[0] is None:
        raise NotCoveredError(f"'{sql}' is no single expression")
    return trees[0].unnest()


def require_sound(node: Node, text: str) -> None:
    """Raise for a constant that raises an error, or is -0.0, which Spark's optimizer takes for the constant 0.0."""
    node = node.units if isinstance(node, Scaled) else node
    if node.kind not in DTYPES or not is_constant(node):
        return
    with np.errstate(all="ignore"):
        found = AnswerScope(Projection((), None, ()), AnswerColumns(0, {})).read(node)
    if found.errors is not None and found.errors.any():
        raise NotCoveredError(f"'{text}' raises an error")
    if node.kind == "double" and found.values == 0 and np.signbit(found.values):
        raise NotCoveredError(f"the constant '{text}', which is -0.0")
