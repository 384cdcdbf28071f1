"""Tests of the page of a reproduction: claims, and measured versus published values."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shallows import reports


def check(place: float, verdict: str, ours: str) -> dict[str, Any]:
    """Return the verdict at one place, as in `claims.json`."""
    found = {"place": place, "paper": "100", "ours": 1.0, "interval": [0.0, 2.0], "verdict": verdict}
    return found | {"seeds": 3, "said": verdict, "shown": {"ours": ours, "interval": ""}}


@pytest.fixture
def page(tmp_path: Path) -> str:
    """The page of a claim that holds at one of two places, with a chart of measured and published values."""
    claim = {"id": "fig2", "source": "Fig. 2", "kind": "value", "metric": "m", "experiment": "x", "cause": ""}
    checks = [check(0.4, "holds", "17 of it"), check(0.6, "does not hold", "19 of it")]
    line = {"name": "K", "index": 0, "ours": [[0.4, 12.0, 11.0, 17.0]], "paper": [[0.4, 10.0]]}
    panel = {"title": "p99", "lines": [line]}
    document = {
        "paper": "A",
        "quick": False,
        "claims": [
            claim | {"verdict": "does not hold", "seeds": 3, "said": "does not hold", "checks": checks}
        ],
        "drawings": {"x": {"axis": "load", "is_wide": False, "seeds": [3], "panels": [panel]}},
        "figures": {"x": ["2"]},
        "command": "shallows reproduce a",
        "build": {"version": "1"},
    }
    (tmp_path / "claims.json").write_text(json.dumps(document))
    (tmp_path / "x-fct-cdf.png").write_bytes(b"picture")
    (tmp_path / "x.png").write_bytes(b"drawn by the browser")
    return reports.write(tmp_path).read_text(encoding="utf-8")


def test_a_claim_is_shown_at_the_place_that_decides_and_with_the_places_that_hold(page: str) -> None:
    table, _ = page.split("Every claim at every place")
    assert "1 of 2" in table
    assert "19 of it" in table
    assert "17 of it" not in table


def test_a_drawing_has_our_values_with_intervals_beside_the_papers(page: str) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    ours, theirs = json.loads(found[1])["charts"][0]["lines"]
    assert (ours["points"], ours["bars"], theirs["points"]) == ([[0.4, 12]], [[0.4, 11, 17]], [[0.4, 10]])


def test_figures_of_an_experiment_are_pictures_of_the_page(page: str) -> None:
    assert re.findall(r'<img src="data:image/png;base64,([^"]*)"', page) == ["cGljdHVyZQ=="]
    assert "Fig. 2: distribution of completion times by flow size" in page


def test_columns_without_a_cell_are_left_out(page: str) -> None:
    columns = re.findall(r"<th[^>]*>([^<]*)</th>", page)
    # No check has an interval.
    assert "interval" not in columns
    assert {"paper", "ours"} <= {*columns}
