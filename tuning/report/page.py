"""The report of a session: one HTML file with its tables and figures inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import matplotlib.style
from matplotlib.figure import Figure

from granite.config.whole_file import write_whole
from granite.tuning.report.figures import session_figure, trajectory_figures
from granite.tuning.report.tables import parameter_rows, titled
from granite.tuning.results import best_of, front_of
from granite.tuning.session import Session
from granite.views.plots.style import STYLE

_LOOK = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22262B; max-width: 1100px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { font-size: 1.15em; margin-top: 2em; }
p.about { color: #5D666F; margin-top: .2em; } img { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: .25em .8em; text-align: left; }
th { border-bottom: 1px solid #5D666F; font-weight: 600; } tr:nth-child(even) td { background: #F3F6F9; }
div.wide { overflow-x: auto; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #F3F6F9; padding: .8em; }
"""
#: rows of the table of trials: the front, then the others by number
_ROWS = 40


def write_report(session: Session, path: Path) -> None:
    """Write the report of a session.

    Raises
    ------
    InputError
        Where the session has no trial, or the file can't be written.
    """
    session.results()  # without any, nothing is written
    session.keep_logs()
    with write_whole("report", path, (".html",), overwrite=True) as unfinished:
        unfinished.write_text(report_page(session), encoding="utf-8")


def report_page(session: Session) -> str:
    """The page as text."""
    table, results = session.table, session.study().results()
    best, front = best_of(table, results), front_of(table, results)
    goals = titled(session, (*table.objectives, *table.constraints))
    failed = sum(not result.objectives for result in results)
    parts = [
        f"<h1>Tuning of {escape(session.bed.name)}</h1>",
        f'<p class="about">{escape(session.bed.title)}<br>{len(results)} trials ({table.sampler}, seed {table.seed}), '
        f"{failed} without a result; session {escape(session.folder.name)}</p>",
    ]
    if best is not None:
        numbers = ", ".join(f"{escape(g)} <b>{v:.4g}</b>" for g, v in zip(goals, best.objectives, strict=False))
        start = results[0]
        before = ", ".join(f"{v:.4g}" for v in start.objectives) or escape(start.failure or "no result")
        parts.append(f"<p>Best: trial {best.number}, {numbers}. The start had {before}.</p>")
    with matplotlib.style.context(["default", STYLE]):
        parts.append(_image(session_figure(session)))
        for title, figure in trajectory_figures(session).items():
            parts += [f"<h2>{escape(title)}</h2>", _image(figure)]
    if best is not None:
        columns = ("parameter", "start", "best", "lower", "upper", "unit", "importance")
        parts += ["<h2>Parameters</h2>", _html_table(columns, parameter_rows(session, best))]
    ordered = [*front, *(result for result in results if result not in front)][:_ROWS]
    rows = [
        (
            str(r.number),
            *([f"{v:.5g}" for v in (*r.objectives, *r.constraints)] or ["-"] * len(goals)),
            *(f"{v:.4g}" for v in r.parameters.values()),
            r.failure or ("" if r.is_feasible else "a constraint does not hold"),
        )
        for r in ordered
    ]
    names = [parameter.name for parameter in session.parameters]
    shown = f"the front, then the others; {len(rows)} of {len(results)}" if front else f"{len(rows)} of {len(results)}"
    parts += [f"<h2>Trials ({shown})</h2>", _html_table(("trial", *goals, *names, "remark"), rows)]
    scenarios = [(one.name, ", ".join(f"{k} = {v}" for k, v in one.changes.items())) for one in session.scenarios]
    parts += [f"<h2>Scenarios, scored by {table.score}</h2>", _html_table(("scenario", "changes"), scenarios)]
    notes = session.folder / "notes.md"
    if notes.exists() and len(notes.read_text(encoding="utf-8").splitlines()) > 1:
        parts += ["<h2>Notes</h2>", f"<pre>{escape(notes.read_text(encoding='utf-8'))}</pre>"]
    body = "\n".join(parts)
    title = escape(f"Tuning of {session.bed.name}")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_LOOK}</style>'
    return f'<!doctype html>\n<html lang="en">{head}\n{body}\n</html>\n'


def _image(figure: Figure) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'


def _html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_breakable(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td{_class(cell)}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _breakable(words: str) -> str:
    """A heading that may be broken inside of a key, so that a table of many parameters fits the page."""
    return escape(words).replace("_", "_<wbr>").replace(".", ".<wbr>")


def _class(cell: str) -> str:
    return ' class="number"' if cell.lstrip("-+")[:1].isdigit() and " " not in cell else ""
