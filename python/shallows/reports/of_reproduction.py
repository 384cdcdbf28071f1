"""Report of a reproduced paper: verdicts on its claims, and measured versus published values."""

import re
from collections import Counter
from glob import escape
from pathlib import Path
from typing import Any

from shallows.comparison.intervals import said_of_bars
from shallows.figure_names import FIGURES
from shallows.quantity import digits
from shallows.reports import chart as charts
from shallows.reports.chart import Axis, Chart, Line
from shallows.reports.html import Block, Cell, Section
from shallows.reports.page import chart, render
from shallows.reproduction.judging import CANNOT_TELL, DOES_NOT_HOLD, HOLDS
from shallows.reproduction.versus import title
from shallows.reproduction.written import mixed, read_documents
from shallows.runs.folder import write_whole
from shallows.runs.manifest import PAGE


def write_reproduction(folder: Path) -> Path:
    """Write `report.html` into the folder of a reproduction, from its files of claims.

    Raises
    ------
    ShallowsError
        If a file of claims cannot be read.
    """
    return write_whole(folder / PAGE, page(folder))


def page(folder: Path) -> str:
    """Return the report as HTML."""
    documents = read_documents(folder)
    if len({(each["paper"], each["quick"]) for each in documents}) > 1:
        raise mixed(folder)
    claims = {claim["id"]: claim for document in documents for claim in document["claims"]}
    drawings = {name: found for document in documents for name, found in document["drawings"].items()}
    named = {name: found for document in documents for name, found in document["figures"].items()}
    last = documents[-1]
    counts = Counter(claim["verdict"] for claim in claims.values())
    said = ", ".join(f"{counts[each]} {words}" for each, words in WORDS.items() if counts[each])
    if single := sum(claim["seeds"] == 1 for claim in claims.values()):
        said += f"; {single} are judged by one seed"
    build = last["build"]
    engine = f"shallows {build['version']}, commit {str(build.get('commit') or 'unknown')[:12]}"
    return render(
        title=str(last["paper"]),
        kind="Reproduction, reduced" if last["quick"] else "Reproduction",
        subtitle=f"{len(claims)} claims: {said}",
        sections=[
            Section("Warnings", _warnings(documents)),
            Section("Claims", _claims(list(claims.values()))),
            Section("Causes", _causes(list(claims.values()))),
            Section("Figures", [*_figures(drawings, named), *_pictures(folder, named)]),
            Section("Details", [_everywhere(list(claims.values()))]),
            Section(
                "Reproduce",
                [
                    Block("code", "\n".join(dict.fromkeys(document["command"] for document in documents))),
                    Block("facts", [("engine", engine), ("sources", str(build.get("source_hash", ""))[:12])]),
                    Block("note", "Scenarios and claims: the paper's folder in experiments/."),
                    *_links(folder, list(named)),
                ],
            ),
        ],
    )


WORDS = {HOLDS: "hold", CANNOT_TELL: "cannot be told", DOES_NOT_HOLD: "do not hold"}


def _warnings(documents: list[dict[str, Any]]) -> list[Block]:
    if not documents[-1]["quick"]:
        return []
    return [
        Block(
            "warning",
            "A reduced run: fewer flows, points and seeds. It checks orderings, not the paper's numbers.",
        )
    ]


def _claims(claims: list[dict[str, Any]]) -> list[Block]:
    """Return a table of claims; each row shows the first point of the sweep that has the claim's verdict."""
    rows = []
    for claim in claims:
        shown = next(check for check in claim["checks"] if check["verdict"] == claim["verdict"])
        holding = sum(check["verdict"] == HOLDS for check in claim["checks"])
        rows.append(
            [
                Cell(claim["id"], detail=_metric(claim)),
                Cell(claim["source"]),
                Cell(claim["said"], claim["verdict"]),
                Cell(f"{holding} of {len(claim['checks'])}"),
                Cell(_place(shown["place"])),
                Cell(shown["paper"]),
                Cell(shown["shown"]["ours"]),
                Cell(shown["shown"]["interval"]),
            ]
        )
    columns = ["claim", "source", "verdict", "places", "example at", "paper", "ours", "interval"]
    return [Block("table", _filled(columns, rows), names=3)] if rows else []


def _filled(columns: list[str], rows: list[list[Cell]]) -> dict[str, Any]:
    """Return the content of a table without columns that are empty in all rows."""
    kept = [place for place in range(len(columns)) if any(row[place].text for row in rows)]
    return {
        "columns": [columns[place] for place in kept],
        "rows": [[row[place] for place in kept] for row in rows],
    }


def _metric(claim: dict[str, Any]) -> str:
    """Return a claim's metric in words, with the unit if the claim's numbers do not show it."""
    shown = "".join(check["shown"]["ours"] for check in claim["checks"])
    has_own = {"%", "B"} & {*shown}
    return title(claim["metric"], unit=claim["kind"] in {"value", "ordering"} and not has_own)


def _causes(claims: list[dict[str, Any]]) -> list[Block]:
    """Return the causes of claims that do not hold or cannot be decided."""
    bad = [(claim["id"], claim["cause"] or "The cause is not known.") for claim in claims]
    kept = [pair for pair, claim in zip(bad, claims, strict=True) if claim["verdict"] != HOLDS]
    return [Block("facts", kept)] if kept else []


def _everywhere(claims: list[dict[str, Any]]) -> Block:
    rows = [
        [
            Cell(claim["id"]),
            Cell(_metric(claim)),
            Cell(check["said"], check["verdict"]),
            Cell(_place(check["place"])),
            Cell(check["paper"]),
            Cell(check["shown"]["ours"]),
            Cell(check["shown"]["interval"]),
        ]
        for claim in claims
        for check in claim["checks"]
    ]
    columns = ["claim", "metric", "verdict", "at", "paper", "ours", "interval"]
    return Block("folded", _filled(columns, rows), f"Every claim at every place ({len(rows)})", names=3)


def _place(place: float | str | None) -> str:
    return place if isinstance(place, str) else "" if place is None else digits(place)


def _figures(drawings: dict[str, Any], named: dict[str, list[str]]) -> list[Block]:
    """Return a chart for each panel, with measured values as lines and published values as filled points."""
    made = []
    for name, found in drawings.items():
        where = ", ".join(_called(figure) for figure in named.get(name, [])) or name
        x = Axis(found["axis"], log=found["is_wide"])
        for number, panel in enumerate(found["panels"]):
            lines = []
            for line in panel["lines"]:
                points = [(place, mean) for place, mean, *_ in line["ours"]]
                bars = [(place, low, high) for place, _, low, high in line["ours"] if low is not None]
                lines.append(Line(line["name"], line["index"], points, bars))
                if line["paper"]:
                    paper = [(place, value) for place, value in line["paper"]]
                    lines.append(Line(f"{line['name']}, paper", line["index"], paper, published=True))
            y = Axis(panel["title"], log=True)
            note = f"Filled points: the paper. {said_of_bars(found['seeds'])}" if number == 0 else ""
            made.append(
                Chart(f"{name}-{number}", f"{where}: {panel['title']}", "points", x, y, lines, note=note)
            )
    blocks, drawn = [], 0
    for each in made:
        if (drawn := drawn + each.size) > charts.MOST_POINTS:
            blocks.append(Block("note", f"{each.title} and what follows is not drawn: it would be too much."))
            break
        blocks.append(chart(each))
    return blocks


MOST_PICTURES = 40
"""Maximum number of figures in the page; further ones are files beside it."""


def _pictures(folder: Path, named: dict[str, list[str]]) -> list[Block]:
    """Return the figures of each experiment's runs as embedded pictures."""
    blocks = []
    for name, of in named.items():
        for file in sorted(folder.glob(f"{escape(name)}-*.png")):
            figure = re.sub(r"-[0-9]+$", "", file.stem.removeprefix(f"{name}-"))
            where = ", ".join(map(_called, of)) or name
            if figure in FIGURES:
                blocks.append(Block("picture", file.read_bytes(), f"{where}: {FIGURES[figure]}"))
    return blocks[:MOST_PICTURES]


def _called(figure: str) -> str:
    return figure if not figure[0].isdigit() else f"Fig. {figure}"


def _links(folder: Path, experiments: list[str]) -> list[Block]:
    """Return links to the reports of the figures' sweeps, or a note on how to write them."""
    there = [(name, f"{name}/{PAGE}") for name in experiments if (folder / name / PAGE).is_file()]
    missing = [
        name for name in experiments if (folder / name).is_dir() and not (folder / name / PAGE).is_file()
    ]
    blocks = [Block("links", there)] if there else []
    if missing:
        blocks.append(
            Block("note", f"`shallows report {folder}/{missing[0]}` shows the runs behind a figure.")
        )
    return blocks
