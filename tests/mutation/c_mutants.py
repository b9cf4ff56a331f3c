"""Mutants of a C file: one operator, constant or condition of a function body changed at a time.

Tokens are enough for that: binary operators are between spaces, as the formatter of the repository writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.mutants import Mutant

CHANGED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "*": "/", "/": "*", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=",
}  # fmt: skip
#: what is no code, then a number, then a binary operator; `*` between a type and a name has no space behind it
TOKEN = re.compile(
    r"""(?P<other>/\*.*?\*/|//[^\n]*|^\s*\#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?<![\w.])(?P<number>\d+\.\d*(?:e[+-]?\d+)?|\d+(?![\w.]))
    |(?<=\ )(?P<operator>[<>]=?|[=!]=|&&|\|\||[-+|&]=|[-+*/])(?=[ \n])
    |(?P<brace>[{}])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
HEAD = re.compile(r"(\w+)\([^;{}]*\)\s*$")


def c_mutants(root: Path, file: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = (root / file).read_bytes().decode()
    depth, function, ended = 0, "", 0
    for token in TOKEN.finditer(source):
        if token["brace"]:
            if depth == 0:
                head = HEAD.search(source, ended, token.start())
                function = head[1] if head and token["brace"] == "{" else ""
            depth += 1 if token["brace"] == "{" else -1
            ended = token.end()
        elif function and depth and not token["other"]:
            after = CHANGED[token["operator"]] if token["operator"] else _other(token["number"])
            first, last = (len(source[:at].encode()) for at in token.span())
            line = source.count("\n", 0, token.start()) + 1
            yield Mutant(file, line, function, token[0], after, first, last)


def _other(number: str) -> str:
    """Another number: the next one, or twice as much."""
    return str(int(number) + 1) if number.isdigit() else repr(2 * float(number) or 1.0)
