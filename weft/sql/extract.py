"""Groups and aggregates taken out of expressions: what is left reads `__key_i`, `__call_i` and `__window`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from weft.aggregates import find
from weft.model.query import CALL, ERROR_OF, KEY, WINDOW, Call
from weft.sql.clauses import is_window, uses_window
from weft.sql.error_calls import error_call
from weft.sql.refuse import refuse_aggregates
from weft.sql.render import identifier, sql
from weft.sql.text import Text


@dataclass
class Groups:
    """The keys of one query in order, and the calls found so far."""

    text: Text
    keys: list[exp.Expr] = field(default_factory=list)
    calls: dict[Call, int] = field(default_factory=dict)
    windowed: bool = False

    def add_keys(self, nodes: list[exp.Expr]) -> None:
        """The keys from resolved GROUP BY expressions; the window, its functions and constants make no key."""
        derived = []
        for node in (node.unnest() for node in nodes):
            refuse_aggregates(self.text, node, "GROUP BY", "Group by columns; filter on aggregates in HAVING.")
            if is_window(node):
                self.windowed = True
            elif uses_window(node):
                derived.append(node)
            elif node.find(exp.Column) and node not in self.keys:
                self.keys.append(node)
        for node in derived:
            self._derived(node)

    def _derived(self, node: exp.Expr) -> None:
        """Check that a key made from the window changes no group: the window is a key too and nothing else is in it."""
        columns = {column.name for column in node.find_all(exp.Column)}
        if not self.windowed or columns != {WINDOW}:
            raise self.text.refused(
                node,
                "a group key made from the window would merge windows.",
                "Group by the window itself and by the columns, each on its own.",
            )

    def lift(self, node: exp.Expr) -> exp.Expr:
        """An output or HAVING with keys, calls and window as columns."""
        root = exp.Paren(this=node)
        self._lift(node)
        return root.this.pop()

    def _lift(self, node: exp.Expr) -> None:
        if node in self.keys:
            node.replace(_column(KEY, self.keys.index(node)))
        elif (inner := error_call(node)) is not None:
            call = self._call(inner.unnest())
            error = replace(call, function=f"{ERROR_OF}{call.function}")
            node.replace(_column(CALL, self.calls.setdefault(error, len(self.calls))))
        elif isinstance(node, exp.Filter | exp.Anonymous) and self._is_aggregate(node):
            node.replace(_column(CALL, self.calls.setdefault(self._call(node), len(self.calls))))
        elif isinstance(node, exp.Column):
            self._grouped(node)
        else:
            for child in list(node.iter_expressions()):
                self._lift(child)

    def _grouped(self, column: exp.Column) -> None:
        if column.name != WINDOW:
            raise self.text.wrong(
                column,
                f"column '{column.name}' is neither grouped nor aggregated.",
                f"Add it to GROUP BY, or aggregate it: max({column.name}).",
            )

    def _call(self, node: exp.Expr) -> Call:
        """The call of an aggregate; equal calls in any spelling are equal here."""
        only = node.expression.this if isinstance(node, exp.Filter) else None
        inner = node.this if isinstance(node, exp.Filter) else node
        distinct = next((arg for arg in inner.expressions if isinstance(arg, exp.Distinct)), None)
        aggregate = find("count distinct") if distinct else self.text.aggregate(inner.name)
        assert aggregate is not None  # _is_aggregate said so
        args = [arg.unnest() for arg in (inner if distinct is None else distinct).expressions]
        for part in (*args, *([only] if only else [])):
            refuse_aggregates(self.text, part, "another aggregate", "Aggregate the columns of the source only.")
        if aggregate.name == "count" and len(args) == 1 and _counts_rows(args[0]):
            args = []
        else:
            self._check_arity(inner, len(args), aggregate.arity)
        if only is not None and aggregate.defined:
            self._refuse_filter(node, inner, sql(only.unnest()))
        return Call(aggregate.name, tuple(sql(arg) for arg in args), sql(only.unnest()) if only else None)

    def _is_aggregate(self, node: exp.Expr) -> bool:
        """Whether the node is a call of an aggregate, with or without FILTER."""
        inner = node.this if isinstance(node, exp.Filter) else node
        return isinstance(inner, exp.Anonymous) and self.text.aggregate(inner.name) is not None

    def _refuse_filter(self, node: exp.Expr, call: exp.Expr, only: str) -> None:
        """The error for a FILTER that Spark does not give to aggregates written in Python."""
        first, *others = (sql(arg) for arg in call.expressions)
        instead = ", ".join([f"CASE WHEN {only} THEN {first} END", *others])
        raise self.text.refused(node, f"Spark gives user-defined aggregates such as {call.name}() no FILTER.",
                                f"Write {call.name}({instead}): rows with a null argument are left out.")

    def _check_arity(self, call: exp.Expr, given: int, arity: tuple[int, int]) -> None:
        least, most = max(1, arity[0]), arity[1]
        if not least <= given <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.text.wrong(call, f"{call.name}() takes {wanted} arguments, not {given}.", "Check the call.")


def _counts_rows(arg: exp.Expr) -> bool:
    """Whether count(arg) counts every row: a star or a literal, and literals here are never null."""
    return isinstance(arg, exp.Star | exp.Literal | exp.Boolean)


def _column(name: str, i: int) -> exp.Column:
    return exp.Column(this=identifier(name.format(i)))
