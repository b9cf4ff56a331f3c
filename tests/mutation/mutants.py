"""Mutants of a source file: one operator, constant, condition or result of it changed at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one place of a file."""

    file: str  #: relative to the root of the repository
    line: int
    function: str  #: qualified name of the innermost function around it; empty outside of functions
    before: str
    after: str
    first: int  #: of the bytes that are replaced
    last: int

    def apply(self, root: Path) -> None:
        """Write the changed file."""
        source = (root / self.file).read_bytes()
        (root / self.file).write_bytes(source[: self.first] + self.after.encode() + source[self.last :])

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.before.split())} -> {self.after}"


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = (root / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, function in _nodes(ast.parse(source), ""):
        for changed in _changes(node):
            first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            after = ast.unparse(ast.fix_missing_locations(changed))
            after = f"({after})" if isinstance(node, ast.expr) else after
            yield Mutant(file, node.lineno, function, source[first:last].decode(), after, first, last)


def _nodes(node: ast.AST, function: str, prefix: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node that runs, with the function around it: no annotations, texts or imports."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            yield child, function
            if isinstance(child, ast.FunctionDef):
                yield from _nodes(child, prefix + child.name, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                yield from _nodes(child, function, f"{prefix}{child.name}.")
            else:
                yield from _nodes(child, function, prefix)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                ops = [*node.ops[:i], COMPARISONS[type(operator)](), *node.ops[i + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
        case ast.BinOp() if type(node.op) in OPERATORS:
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
        case ast.AugAssign() if type(node.op) in OPERATORS:
            yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value or 1.0)
        case ast.Return(value=ast.expr()) if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield ast.Return(ast.Constant(None))
