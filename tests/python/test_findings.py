"""Tests of findings on claims: notation of numbers, tables, documents, and the points that run."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fake_claims import claim
from shallows.reproduction import findings
from shallows.reproduction.expected import Experiment, Paper, Quick
from shallows.reproduction.findings import Finding
from shallows.reproduction.judging import Check
from shared import SMALL


def check(value: float) -> Check:
    """Return a verdict "holds" without a place, with this measured number."""
    return Check(None, "", value, value, value, "holds")


@pytest.mark.parametrize(
    ("value", "keys", "shown"),
    [
        (90_000.0, {"expected": "100KB"}, "90 KB"),
        (90_000.0, {"kind": "crossing", "expected": "100KB"}, "90 KB"),
        (12.0, {"expected": 1.0}, "12"),
        (12.0, {"kind": "ordering"}, "+12"),
        (12.0, {"expected": 1.0, "change": "difference"}, "+12"),
        # Relative changes are in percent.
        (12.0, {"expected": 0.5, "versus": {"scheme": "b"}}, "+1,200 %"),
        # A place that is never reached, and a number without a limit.
        (math.inf, {"kind": "crossing"}, "never"),
        (math.inf, {"expected": 1.0}, "∞"),
    ],
)
def test_numbers_are_written_as_their_claims_write_them(
    value: float, keys: dict[str, Any], shown: str
) -> None:
    assert findings.number(claim(**keys), check(value)) == shown


AT_TWO_PLACES = Finding(
    claim(expected=10.0),
    [Check(0.4, "10", 12.0, 11.0, 13.0, "holds"), Check(None, "10", 12.0, 12.0, 12.0, "holds")],
)
"""A claim with an interval at one place, and with no interval at another."""


def test_a_finding_is_described_with_its_number_and_the_ends_of_its_interval() -> None:
    described = AT_TWO_PLACES.describe()
    assert [each["shown"] for each in described["checks"]] == [
        {"ours": "12", "interval": "11 – 13"},
        {"ours": "12", "interval": ""},
    ]
    assert described["verdict"] == "holds"


def test_a_finding_in_percent_is_described_with_signs() -> None:
    share = claim(expected=-0.1, versus={"scheme": "b"})
    described = Finding(share, [Check(None, "", 0.5, 0.25, 0.75, "holds")]).describe()["checks"][0]
    assert (described["ours"], described["interval"]) == (0.5, [0.25, 0.75])
    assert described["shown"] == {"ours": "+50 %", "interval": "+25 % – +75 %"}


def test_findings_are_a_table_with_a_row_for_each_place() -> None:
    paper = cast(Paper, SimpleNamespace(title="P", experiments={}))
    rows = findings.markdown([AT_TWO_PLACES], paper).splitlines()
    assert rows[2:4] == ["| c | §1 | 0.4 | 10 | 12 | 11 – 13 | holds |", "| c | §1 |  | 10 | 12 |  | holds |"]


TOLD = {name: SimpleNamespace(fingerprint=name * 3) for name in ("a", "b")}
PAPER = cast(Paper, SimpleNamespace(title="P", experiments=TOLD))


def test_a_document_names_the_experiments_of_its_claims_only() -> None:
    assert findings.made_from(PAPER, {"b"}) == "Made from: b bbb\n"


@pytest.mark.parametrize(
    ("verdicts", "holding"),
    [
        ([["holds"], ["does not hold"], ["holds"]], 2),
        # A claim holds if it does so at all places.
        ([["holds", "does not hold"], ["holds"]], 1),
    ],
)
def test_a_document_counts_the_claims_that_hold(verdicts: list[list[str]], holding: int) -> None:
    found = [Finding(claim(), [Check(None, "1", 1.0, 1.0, 1.0, each) for each in of]) for of in verdicts]
    assert findings.document_of(PAPER, found, quick=False)["holding"] == holding


SCHEMES = """
[sweep]
axes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }
[[sweep.scheme]]
name = "dctcp"
set = { "tcp.initial_window" = 5 }
[[sweep.scheme]]
name = "reno"
set = { "tcp.initial_window" = 5, "tcp.congestion" = "reno", "switch.markers" = [] }
"""


@pytest.mark.parametrize(
    ("quick", "expected"),
    [
        (False, [(scheme, 0.6, seed, 9) for scheme in ("dctcp", "reno") for seed in (1, 2)]),
        (True, [("dctcp", 0.6, 2, 7), ("reno", 0.6, 2, 7)]),
    ],
)
def test_an_experiment_has_the_points_of_its_selections_and_a_reduced_one_of_both(
    tmp_path: Path, quick: bool, expected: list[tuple[Any, ...]]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(SMALL + SCHEMES)
    reduced = Quick(set={"workload.0.flows": 7}, only={"seed": [2]})
    some = Experiment("x", ["1"], path, set={"workload.0.flows": 9}, only={"load": [0.6]}, quick=reduced)
    found = findings.points_of(some, tmp_path, quick=quick)
    flows = [json.loads(each.source.parse().resolved())["workload"][0]["flows"] for each in found]
    points = [(*each.source.labels.values(), count) for each, count in zip(found, flows, strict=True)]
    assert points == expected
