"""HTML pages that contain blocks of text, tables, drawings and charts, and all styles and scripts.

Pages fetch nothing. A Content-Security-Policy permits only our own scripts, by their hashes, so that text
from a name or a scenario cannot run as a script.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from shallows.about import label
from shallows.reports.chart import MOST_POINTS, Chart, looks
from shallows.reports.html import Block, Cell, Page, Section
from shallows.runs.table import Table

STATIC = Path(__file__).with_name("static")

LIBRARY = STATIC / "echarts.js"
"""ECharts, built by `make charts`; not under version control."""

NOTICES = LIBRARY.with_suffix(".txt")
"""Licences and notices of ECharts, from `web/build.mjs`; every page with the library contains them."""

MISSING = "Charts are missing: this checkout has not built them. `make charts` does."


@dataclass(frozen=True)
class Live:
    """Settings of a page that reloads itself (`live.js`)."""

    every_ms: int
    gone: str
    """Message that the page shows once the server has ended."""


def table(made: Table, links: Sequence[str] = ()) -> Block:
    """Return the block of a table; `links` are the link targets of the first cell of each row."""
    rows = [[Cell(text) for text in row] for row in made.rows]
    for row, link in zip(rows, links, strict=False):
        row[0] = replace(row[0], link=link)
    return Block("table", {"columns": made.columns, "rows": rows}, made.title, made.note, made.names)


def render(
    title: str,
    kind: str,
    subtitle: str,
    sections: Sequence[Section],
    live: Live | None = None,
) -> str:
    """Return the HTML text of a page, which reloads itself if `live` is given."""
    sections = [section for section in sections if section.blocks]
    charts = [block.content for section in sections for block in section.blocks if block.kind == "chart"]
    drawn = sum(chart.size for chart in charts)
    if drawn > MOST_POINTS:
        raise AssertionError(f"a page must have at most {MOST_POINTS} points, got {drawn}")
    scripts = [
        *([library()] if library() else []),
        _static("report.js"),
        *([_static("live.js")] if live else []),
    ]
    page = Page(
        title=title,
        kind=kind,
        subtitle=subtitle,
        sections=sections,
        policy=_policy(scripts, live=bool(live)),
        style=_static("report.css"),
        scripts=scripts,
        data=island(
            {"looks": looks(), "charts": [chart.document() for chart in charts]}
            | ({"live": vars(live)} if live else {})
        ),
        missing="" if library() else MISSING,
        notices=_static(NOTICES.name) if library() else "",
        label=label(),
    )
    return page.html()


def island(document: dict[str, Any]) -> str:
    r"""Return JSON for a script element, escaped so that it can neither end the element nor begin another.

    >>> island({"name": "</script><!--"})
    '{"name":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def chart(made: Chart) -> Block:
    """Return the block of a chart."""
    return Block("chart", made, made.title, made.note)


def library() -> str:
    """Return the script of ECharts; empty in a checkout that has not built it."""
    return _static(LIBRARY.name) if LIBRARY.is_file() else ""


@cache
def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8").strip()


def _policy(scripts: Sequence[str], *, live: bool) -> str:
    """Return a policy that permits these scripts by hash (CSP Level 3 §2.3.1) and forbids fetching."""
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    ]
    # Inline styles are permitted because ECharts sets styles of the elements that it creates.
    parts = ["default-src 'none'", f"script-src {' '.join(hashes)}", "style-src 'unsafe-inline'"]
    parts += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    return "; ".join([*parts, *(["connect-src 'self'"] if live else [])])
