"""Tests of the page on one fabric: its numbers are those of the verdicts, and these are those of the runs."""

import csv
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import pytest

from pages import ROOT
from shallows.reproduction.expected import Claim, read
from shallows.reproduction.findings import Finding, made_from, markdown
from shallows.reproduction.judging import Measured, judge
from shared import script

FOLDER = ROOT / "experiments/one-fabric"
RESULTS = FOLDER / "results"
PAPER = read(FOLDER)
VERDICTS = (RESULTS / "claims.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/one-fabric.md").read_text(encoding="utf-8")
README = (FOLDER / "README.md").read_text(encoding="utf-8")

SUMMARIES = {"Five papers, one fabric", "If your fabric is …"}
"""Sections that repeat numbers of other sections."""


@dataclass(frozen=True)
class Row:
    """A number in the table of verdicts: in percent, µs or bytes, or without a unit."""

    claim: Claim
    place: str
    number: float
    low: float
    high: float

    def is_named_in(self, text: str) -> bool:
        """Return whether a text names the row's load, and its scheme or a mechanism that the scheme combines.

        Without a load in the text, the load is 70 %.
        """
        if self.claim.kind == "computed":
            return True
        loads = {str(int(load) / 100) for load in re.findall(r"(\d+) % load", text)} or {"0.7"}
        if self.place and self.place not in loads:
            return False
        parts = re.split(r", | \+ | on | beside ", self.claim.where["scheme"])
        return any(re.search(rf"(?<!\w){re.escape(part)}", text) for part in parts)


UNITS = {"µs": 1, "ms": 1e3, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20}


def parse(cell: str, claim: Claim) -> float:
    """Return the number in a cell of the table of verdicts."""
    number, _, unit = cell.replace("−", "-").replace(",", "").partition(" ")
    share = 100 if claim.metric.endswith("with_timeout") and claim.versus is None else 1
    return float(number) * UNITS.get(unit, 1) * share


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows() -> list[Row]:
    """Return the numbers of the verdicts on values."""
    claims = {claim.id: claim for claim in PAPER.claims}
    found = []
    for line in VERDICTS.splitlines()[2:]:
        if not line.startswith("|"):
            continue
        name, _, place, _, ours, interval, _ = cells_of(line)
        claim = claims[name]
        if claim.kind in {"value", "computed"}:
            ends = interval.split(" – ") if interval else [ours, ours]
            found.append(Row(claim, place, *(parse(cell, claim) for cell in (ours, *ends))))
    return found


def prose() -> str:
    """Return the page without code blocks, figures and the targets of links."""
    text = re.sub(r"```.*?```|!\[[^]]*\]\([^)]*\)", "", PAGE, flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)", "]", text)


def blocks() -> list[tuple[str, str]]:
    """Return the paragraphs, bullets and table rows of the page, each with the title of its section."""
    section, found = "", []
    for block in re.split(r"\n(?=[-|#\n]|\d+\.)", prose()):
        if block.lstrip().startswith("#"):
            section = block.strip("# \n")
        elif block.strip():
            found.append((section, " ".join(block.split())))
    return found


NUMBER = r"[−+]?\d[\d,]*(?:\.\d+)?"
PERCENT = re.compile(
    rf"((?:{NUMBER}(?:, | and | to ))*{NUMBER}) %(?! load| interval)(?: \[({NUMBER}), ({NUMBER})\])?"
)
QUANTITY = re.compile(rf"({NUMBER}) (µs|ms|[KMG]i?B)\b")


def agrees(text: str, number: float, *, unit: float = 1) -> bool:
    """Return whether a number in words of the page is a measured number, rounded; signs may be left out.

    The table of verdicts has three digits, so that a number may be rounded twice.
    """
    bare = text.replace(",", "").replace("−", "-")
    half = 0.55 * 10.0 ** -len(bare.partition(".")[2])
    signed = bare[0] in "+-"
    return abs(float(bare) - (number if signed else abs(number)) / unit) <= half


def unmatched() -> list[str]:
    """Return the measured numbers of the page for which the verdicts have no row."""
    known, missing = rows(), []
    for section, text in blocks():
        mine = [row for row in known if row.is_named_in(text) and section in {row.claim.source, *SUMMARIES}]
        percents = [row for row in mine if row.claim.in_percent or row.claim.metric.endswith("with_timeout")]
        for found in PERCENT.finditer(text):
            for number in re.findall(NUMBER, found[1].replace(", ", " ")):
                rest = [row for row in percents if agrees(number, row.number)]
                if found[2]:
                    ends = sorted(found.group(2, 3), key=lambda end: abs(float(end.replace("−", "-"))))
                    rest = [
                        row for row in rest if all(map(agrees, ends, sorted((row.low, row.high), key=abs)))
                    ]
                if not rest:
                    missing.append(f"{section}: {number} % in {found[0]!r}")
        for found in QUANTITY.finditer(text):
            levels = [row for row in mine if not row.claim.in_percent]
            if not any(agrees(found[1], row.number, unit=UNITS[found[2]]) for row in levels):
                missing.append(f"{section}: {found[0]}")
    return missing


def settings() -> dict[str, float]:
    """Return the settings that the page states, by unit: each number is computed from the scripts."""
    make = script(FOLDER / "make.py")
    fast, slow = make.FAST, make.SLOW
    per_port = fast.pool / fast.ports_per_pool + fast.reserved
    eight_thresholds = 8 * next(row.number for row in rows() if row.claim.id == "k-100g")
    return {
        "80 µs": fast.rtt * 1e6,
        "3 MiB": fast.pool,
        "3.1 MB": fast.pool,
        "5.8 MB": eight_thresholds,
        "128 KiB": fast.reserved,
        "5 KB": per_port / (fast.rate / 1e9),
        "9 MB": slow.pool,
        "38 KB": slow.pool / slow.ports_per_pool / (slow.rate / 1e9),
        "64 KB": make.ANSWER,
        "5 ms": 5_000,
        "3 MB": 3_000_000,
        "1 GB": 1_000_000_000,
    }


def test_each_measured_number_of_the_page_is_that_of_a_verdict() -> None:
    set_by_us = settings()
    for text, number in set_by_us.items():
        amount, unit = text.split()
        assert agrees(amount, number, unit=UNITS[unit]), text
    cases = " ".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml"))
    missing = [
        each
        for each in unmatched()
        if (said := each.partition(": ")[2]) not in set_by_us and f"of {said.replace('µ', 'u')}" not in cases
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("37 and 33 %", "37 and 32 %"), ("[34, 45]", "[34, 46]"), ("5.1 ms", "5.2 ms"), ("720 KB", "700 KB")],
)
def test_a_stale_number_is_found(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PAGE.count(old) >= 1
    before = unmatched()
    monkeypatch.setattr(sys.modules[__name__], "PAGE", PAGE.replace(old, new))
    assert len(unmatched()) > len(before)


def test_the_source_of_each_claim_is_a_section_of_the_page() -> None:
    assert {claim.source for claim in PAPER.claims} <= {section for section, _ in blocks()}


def test_the_page_has_1200_words_at_most() -> None:
    assert len([word for word in prose().split() if re.search(r"[A-Za-z0-9]", word)]) <= 1_200


def points() -> dict[str, list[Measured]]:
    """Return the runs of each experiment, as rows of the table of runs."""
    columns = {metric: column for column, metric in script(FOLDER / "tables.py").METRICS.items()}
    found: dict[str, list[Measured]] = defaultdict(list)
    with (RESULTS / "points.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels: dict[str, Any] = {"scheme": row["scheme"], "seed": int(row["seed"])}
            labels |= {"case": row["case"]} if row["case"] else {}
            labels |= {"load": float(row["load"])} if row["load"] else {}
            found[row["experiment"]].append(
                Measured(labels, cache(lambda m, row=row: number(row, columns, m)))
            )
    return found


def number(row: Mapping[str, str], columns: Mapping[str, str], metric: str) -> float:
    """Return a metric of a run from its row; without queries, all flows are those of the four workloads."""
    column = columns.get(metric) or ("" if row["query_mean_us"] else columns.get(f"{metric}@0..4"))
    if not column:
        raise LookupError(metric)
    return float(row[column])


def numbers(table: str, claim: Claim) -> list[Any]:
    """Return the numbers and verdicts of a claim in a table of verdicts."""
    found: list[Any] = []
    for line in table.splitlines():
        if line.startswith(f"| {claim.id} "):
            _, _, place, paper, ours, interval, verdict = cells_of(line)
            found += [
                place,
                paper,
                *(parse(each, claim) for each in (ours, *interval.split(" – ")) if each),
                verdict,
            ]
    return found


def approximately(found: list[Any]) -> list[Any]:
    """Return what equals the numbers, except for the rounding of both tables."""
    return [pytest.approx(each, rel=0.01, abs=0.02) if isinstance(each, float) else each for each in found]


def test_verdicts_are_those_of_the_table_of_runs() -> None:
    measured, judged = points(), 0
    for claim in PAPER.claims:
        experiment = PAPER.experiments[claim.experiment]
        if not experiment.runs:
            continue
        try:
            finding = Finding(claim, judge(claim, experiment, measured[experiment.name], quick=False))
        except LookupError:
            continue
        judged += 1
        assert numbers(VERDICTS, claim) == approximately(numbers(markdown([finding], PAPER), claim))
    assert judged >= 140
    assert VERDICTS.endswith(made_from(PAPER, {*PAPER.experiments}))


def test_claims_without_a_cause_hold() -> None:
    caused = {claim.id for claim in PAPER.claims if claim.cause}
    failed = {cells_of(line)[0] for line in VERDICTS.splitlines()[2:] if line.endswith(("tell |", "hold |"))}
    assert failed == caused


def test_tuned_numbers_are_the_best_of_the_grid() -> None:
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (RESULTS / "points.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["experiment"] == "grid":
                scheme, _, factor = row["scheme"].rpartition(", x")
                product = float(row["small_p99_us"]) * float(row["large_mean_us"])
                found[scheme][float(factor)].append(math.log(product) / 2)
    factors = {"¼": 0.25, "½": 0.5, "1": 1.0, "2": 2.0}
    table = README[README.index("| scheme | best factor |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) == len(found)
    for line in table:
        scheme, factor, own, best = cells_of(line)
        scores = {x: math.exp(fmean(each)) for x, each in found[re.sub(r" \(.*|\\", "", scheme)].items()}
        assert factors[factor] == min(scores, key=lambda x: scores[x])
        assert own == f"{scores[1]:,.0f}"
        assert best == f"{min(scores.values()):,.0f}"


def test_the_page_states_the_number_of_runs_and_of_packet_hops() -> None:
    sizes = json.loads((RESULTS / "datacite.json").read_text(encoding="utf-8"))["sizes"]
    with (RESULTS / "points.csv").open(encoding="utf-8", newline="") as file:
        hops = [float(row["packet_hops"]) for row in csv.DictReader(file)]
    assert sizes == [f"{len(hops)} runs", f"{sum(hops) / 1e9:.2f} billion packet-hops"]
    for text in (PAGE, README):
        assert f"{len(hops):,} " in text
        assert f"{sum(hops) / 1e9:.1f} billion packet-hops" in " ".join(text.split())
