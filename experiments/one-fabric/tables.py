"""Write the table of all runs, and the description of the data set, into `results/`.

Each row of `points.csv` is a run, with its labels, seed, results and hash. `datacite.json` describes the
data set in the terms of DataCite 4.5, ready for a repository that assigns a DOI.

Usage: python experiments/one-fabric/tables.py RUNS

RUNS is the folder that `shallows reproduce one-fabric` has written.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from shallows.about import build
from shallows.errors import ShallowsError
from shallows.runs.results import Run
from shallows.series.measures import measure

FOLDER = Path(__file__).parent / "results"

METRICS = {
    "small_p99_us": "fct_us.small.p99@0..4",
    "small_mean_us": "fct_us.small.mean@0..4",
    "large_mean_us": "fct_us.large.mean@0..4",
    "slowdown_mean": "slowdown.all.mean@0..4",
    "query_mean_us": "queries.all.mean",
    "queries_with_timeout": "queries.all.with_timeout",
    "loss_in_switches": "loss_rate_in_switches",
    "timeouts": "timeouts",
    "flows": "flows.completed",
    "packet_hops": "engine.packet_hops",
}
"""Columns of results, and their metrics. Completion times and slowdowns leave out the flows of queries."""

LABELS = ("scheme", "load", "case", "seed")


METHODS = """\
Packet-level simulations with Shallows. points.csv has a row for each run, with its seed and the hash of its
scenario and engine. The same scenario, seed and engine give the same results."""


def rows(folder: Path) -> list[dict[str, Any]]:
    """Return a row for each finished run of each experiment."""
    found = []
    for index in sorted(folder.glob("*/sweep.json")):
        for point in json.loads(index.read_text(encoding="utf-8"))["points"]:
            path = index.parent / point["folder"]
            if not (path / "summary.json").exists():
                continue
            run = Run(path)
            row: dict[str, Any] = {"experiment": index.parent.name}
            row |= {label: point["labels"].get(label, "") for label in LABELS}
            row |= {column: value(run, metric) for column, metric in METRICS.items()}
            manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
            found.append(row | {"hash": manifest["hash"][:16]})
    return found


def value(run: Run, metric: str) -> str:
    """Return a number of a run; empty if it was not measured."""
    try:
        return f"{measure(run, metric):.6g}"
    except ShallowsError:
        return ""


def described(table: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the metadata of the data set."""
    version = build()
    hops = sum(float(row["packet_hops"]) for row in table)
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Simulation results"},
        "titles": [{"title": "Five papers, one fabric: congestion control and marking on one leaf-spine"}],
        "creators": [{"name": "The Shallows developers", "nameType": "Organizational"}],
        "publisher": {"name": "The Shallows developers"},
        "publicationYear": 2026,
        "rightsList": [{"rights": "Apache License 2.0", "rightsIdentifier": "Apache-2.0"}],
        "language": "en",
        "version": str(version.get("version", "")),
        "formats": ["text/csv", "application/json"],
        "sizes": [f"{len(table)} runs", f"{hops / 1e9:.2f} billion packet-hops"],
        "subjects": [{"subject": each} for each in ("congestion control", "ECN", "datacenter networks")],
        "descriptions": [
            {
                "descriptionType": "Methods",
                "description": METHODS,
            }
        ],
        "software": version,
        "seeds": sorted({row["seed"] for row in table}),
    }


def main() -> None:
    """Write the table of runs, and the description of the data set."""
    table = rows(Path(sys.argv[1]))
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "points.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    text = json.dumps(described(table), indent=2, ensure_ascii=False)
    (FOLDER / "datacite.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
