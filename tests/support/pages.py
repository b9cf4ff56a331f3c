"""The pages that users read, and what is in them: links, anchors, blocks of code."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class Text(NamedTuple):
    """A part of a page, and the number of its first line."""

    line: int
    content: str


def links(page: Path) -> Iterator[Text]:
    """Where every link and image leads."""
    for line, token in _inline(page):
        if token.type in ("link_open", "image"):
            yield Text(line, str(token.attrs["href" if token.type == "link_open" else "src"]))


def prose_lines(page: Path) -> Iterator[Text]:
    """Every line of a paragraph or an item of a list."""
    lines, is_table = page.read_text().split("\n"), False
    for token in _MARKDOWN.parse("\n".join(lines)):
        if token.type in ("table_open", "table_close"):
            is_table = token.type == "table_open"
        elif token.type == "inline" and token.map and not is_table and not token.content.startswith("!["):
            yield from (Text(i + 1, lines[i]) for i in range(*token.map))


def anchors(page: Path) -> set[str]:
    """The headings as links name them: GitHub's rule, which the site follows too."""
    names: list[str] = []
    tokens = _MARKDOWN.parse(page.read_text())
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = "".join(child.content for child in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            names.append(f"{slug}-{n}" if (n := names.count(slug)) else slug)
    return set(names)


def python_blocks(page: Path) -> list[Text]:
    """The fenced blocks of Python."""
    return fenced_blocks(page, "python")


def fenced_blocks(page: Path, language: str) -> list[Text]:
    """The fenced blocks of a language."""
    return [Text(t.map[0] + 2, t.content) for t in _MARKDOWN.parse(page.read_text()) if t.map and t.info == language]


def shell_lines(page: Path) -> Iterator[Text]:
    """The lines of blocks that are indented, or fenced as shell."""
    for token in _MARKDOWN.parse(page.read_text()):
        if token.map and (token.type == "code_block" or token.info in ("sh", "bash", "console")):
            first = token.map[0] + (1 if token.type == "code_block" else 2)
            yield from (Text(first + i, line) for i, line in enumerate(token.content.splitlines()))


def shell_script(page: Path) -> str:
    """A page as a script: its commands, and its fenced blocks appended to the files that their first lines name."""
    parts = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"]
    for token in _MARKDOWN.parse(page.read_text()):
        file = re.match(r"# (\S+\.\w+)\n", token.content) if token.type == "fence" else None
        if token.type == "code_block":
            parts.append(token.content)
        elif file:
            parts.append(f"cat >> {file[1]} <<'END'\n{token.content}END\n")
    return "".join(parts)


def code_spans(page: Path) -> Iterator[Text]:
    """The code within sentences and tables."""
    for line, token in _inline(page):
        if token.type == "code_inline":
            yield Text(line, token.content)


def _inline(page: Path) -> Iterator[tuple[int, Token]]:
    for token in _MARKDOWN.parse(page.read_text()):
        for child in token.children or ():
            yield (token.map[0] + 1 if token.map else 0), child
