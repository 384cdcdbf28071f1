"""HTML text of pages, with all foreign text escaped."""

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})


def text(value: object) -> str:
    """Escape a value for use between tags or in quoted attributes.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return str(value).translate(_ESCAPES)


def words(value: object) -> str:
    """Escape text, and mark up commands between backticks.

    >>> words("`shallows report runs` shows <all>")
    '<code>shallows report runs</code> shows &lt;all&gt;'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


SHORT = 20
"""Maximum length in characters of a table's names that stay on one line even on narrow screens."""


def path(relative: str) -> str:
    """Return a path relative to the page as a link target, with reserved characters quoted (RFC 3986)."""
    return text(quote(os.fsencode(relative)))


@dataclass(frozen=True)
class Cell:
    """A cell of a table of verdicts."""

    text: str
    verdict: str = ""
    """Verdict: `better`, `worse`, `cannot tell`, `holds` or `does not hold`."""
    title: str = ""
    """Tooltip of the cell."""
    detail: str = ""
    """Second line in a smaller font."""
    link: str = ""
    """Target of a link: a path relative to the page, not quoted."""


@dataclass(frozen=True)
class Block:
    """A part of a section. `kind` selects a function of `SHOWN`, or is `chart`."""

    kind: str
    content: Any
    title: str = ""
    note: str = ""
    names: int = 1
    """Number of columns, from the first, that contain names."""


@dataclass
class Section:
    """A part of the page, with an entry in its menu."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Anchor of the section."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class Page:
    """Contents of a page, with its style, scripts and data."""

    title: str
    kind: str
    subtitle: str
    sections: Sequence[Section]
    policy: str
    style: str
    scripts: Sequence[str]
    data: str
    missing: str
    """Warning shown above charts that cannot be drawn; empty if charts can be drawn."""
    notices: str
    label: str

    def html(self) -> str:
        """Return the page as HTML text."""
        menu = "".join(f'<a href="#{text(each.name)}">{text(each.title)}</a>' for each in self.sections)
        return "\n".join(
            [
                "<!doctype html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{text(self.policy)}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                '<meta name="referrer" content="no-referrer">',
                f"<title>{text(self.title)} – Shallows</title>",
                f"<style>{self.style}</style>",
                "</head>",
                "<body>",
                "<header>",
                f'<div class="line"><span class="kind">{text(self.kind)}</span>'
                '<button id="theme" type="button" aria-live="polite">Theme: system</button></div>',
                f"<h1>{text(self.title)}</h1>",
                f'<p class="sub">{text(self.subtitle)}</p>',
                f'<nav aria-label="Sections">{menu}</nav>',
                "</header>",
                "<main>",
                *map(self._section, self.sections),
                "</main>",
                f"<footer>{text(self.label)}",
                _notices(self.notices),
                "</footer>",
                f'<script type="application/json" id="data">{self.data}</script>',
                *(f"<script>{script}</script>" for script in self.scripts),
                "</body>",
                "</html>",
            ]
        )

    def _section(self, section: Section) -> str:
        blocks = []
        kinds = ["", *(block.kind for block in section.blocks), ""]
        for block, before, after in zip(section.blocks, kinds, kinds[2:], strict=False):
            if block.kind != "chart":
                blocks.append(SHOWN[block.kind](block))
                continue
            # Consecutive charts share a grid.
            blocks += [self._before_charts()] if before != "chart" else []
            blocks += [_chart(block), *(["</div>\n"] if after != "chart" else [])]
        head = f'<section id="{text(section.name)}">\n<h2>{text(section.title)}</h2>\n'
        return f"{head}{''.join(blocks)}</section>"

    def _before_charts(self) -> str:
        missing = f'<p class="warning">{text(self.missing)}</p>' if self.missing else ""
        without = "The charts are drawn by JavaScript, which is switched off."
        return (
            f'{missing}<noscript><p class="warning">{without}</p></noscript>\n{SHARED}<div class="charts">\n'
        )


SHARED = '<div class="legend shared" role="group" aria-label="Lines of several charts"></div>\n'
"""Legend that charts with the same lines share."""


def _notices(notices: str) -> str:
    if not notices:
        return ""
    summary = "Charts are drawn by Apache ECharts, which is in this page: licences"
    return f'<details><summary>{summary}</summary><pre tabindex="0">{text(notices)}</pre></details>'


def _chart(block: Block) -> str:
    axes = f"{text(block.content.y.name)} against {text(block.content.x.name)}"
    note = f"<figcaption>{words(block.note)}</figcaption>" if block.note else ""
    return (
        f'<figure class="chart" data-chart="{text(block.content.name)}"><h3>{text(block.title)}</h3>\n'
        '<div class="choices"></div><div class="legend" role="group" aria-label="Lines"></div>\n'
        f'<div class="plot" tabindex="0" role="img" aria-label="{axes}"></div>\n'
        f'<div class="downloads"></div>{note}</figure>\n'
    )


def _paragraph(block: Block) -> str:
    return f'<p class="{block.kind}">{words(block.content)}</p>\n'


def _drawing(block: Block) -> str:
    # The content is SVG from `reports.topology` or `reports.pause_tree`, which escape names.
    title = f"<h3>{text(block.title)}</h3>" if block.title else ""
    note = f"<figcaption>{text(block.note)}</figcaption>"
    return f'{title}<figure class="drawing"><div class="scroll">{block.content}</div>{note}</figure>\n'


def _picture(block: Block) -> str:
    """Return an embedded PNG."""
    data = base64.b64encode(block.content).decode("ascii")
    return (
        f'<figure class="picture"><h3>{text(block.title)}</h3>\n'
        f'<img src="data:image/png;base64,{data}" alt="{text(block.title)}"></figure>\n'
    )


def _facts(block: Block) -> str:
    facts = "".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in block.content)
    listed = f"<dl>{facts}</dl>\n"
    return f"<details><summary>{text(block.title)}</summary>{listed}</details>" if block.title else listed


def _code(block: Block) -> str:
    return f'<pre tabindex="0">{text(block.content)}</pre>\n'


def _details(block: Block) -> str:
    return f"<details><summary>{text(block.title)}</summary>{_code(block).rstrip()}</details>\n"


def _links(block: Block) -> str:
    links = "".join(f'<li><a href="{path(to)}">{text(name)}</a></li>' for name, to in block.content)
    return f"<ul>{links}</ul>\n"


def _table(block: Block) -> str:
    title = f"<h3>{text(block.title)}</h3>" if block.title else ""
    return f"{title}{_rows(block)}"


def _folded(block: Block) -> str:
    return f"<details><summary>{text(block.title)}</summary>\n{_rows(block)}</details>\n"


def _rows(block: Block) -> str:
    """Return a table with its note below."""
    columns, names = block.content["columns"], block.names
    # On narrow screens, a table that consists only of names shows the cells of a row one below the other.
    prose = columns if names == len(columns) and names > 2 else ()
    heads = "".join(
        f'<th scope="col"{_of_name(place, names)}>{text(column)}</th>' for place, column in enumerate(columns)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell, place, names, prose) for place, cell in enumerate(row))}</tr>\n"
        for row in block.content["rows"]
    )
    note = f'<p class="note">{words(block.note)}</p>' if block.note else ""
    return (
        f'<div class="scroll" tabindex="0"><table{_class("prose" if prose else "")}>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n\n{note}"
    )


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _of_name(place: int, names: int) -> str:
    return _class("name" if place < names else "")


def _cell(cell: Cell, place: int, names: int, prose: Sequence[str]) -> str:
    short = " short" if len(cell.text) <= SHORT and not prose else ""
    name = f"name{short}" if place < names else ""
    verdict = f" verdict {text(cell.verdict.replace(' ', '-'))}" if cell.verdict else ""
    column = f' data-column="{text(prose[place])}"' if prose else ""
    title = f' title="{text(cell.title)}"' if cell.title else ""
    shown = f'<a href="{path(cell.link)}">{text(cell.text)}</a>' if cell.link else words(cell.text)
    detail = f"<small>{text(cell.detail)}</small>" if cell.detail else ""
    return f'<td class="{name}{verdict}"{column}{title}>{shown}{detail}</td>'


def _progress(block: Block) -> str:
    bars = "".join(
        f'<span>{text(name)}</span><div class="bar" role="progressbar" aria-label="{text(name)}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}"><i style="width: {percent}%"></i>'
        f"</div><span>{percent} %</span>"
        for name, percent in block.content
    )
    return f'<div class="progress">{bars}</div>\n'


SHOWN = {
    "text": _paragraph,
    "note": _paragraph,
    "warning": _paragraph,
    "drawing": _drawing,
    "picture": _picture,
    "facts": _facts,
    "code": _code,
    "details": _details,
    "links": _links,
    "table": _table,
    "folded": _folded,
    "progress": _progress,
}
"""Functions that render blocks by kind; charts are rendered by `Page`, as consecutive ones share a grid."""
