"""Tests of completed flows, and of the bins of their sizes."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shallows as sh
from fake_runs import fake_run, flow_table
from shallows.series import completions


def test_an_unfinished_flow_is_not_among_complete_flows(cut_off: sh.Run) -> None:
    assert cut_off.flows["fct_us"].to_list() == [pytest.approx(4.4), None]
    assert completions.completed([cut_off])["fct_us"].to_list() == [pytest.approx(4.4)]


def test_flows_before_the_warm_up_are_not_among_complete_flows(cut_off: sh.Run, tmp_path: Path) -> None:
    late = sh.run(cut_off.path / "scenario.toml", {"measure.warm_up": "10001ns"}, out=tmp_path / "late")
    assert completions.completed([late]).is_empty()


def test_complete_flows_of_several_runs_are_together() -> None:
    half = flow_table(counted=[0, 1, 1], fct_us=[5.0, 6.0, None])
    assert completions.completed([fake_run(flows=half)] * 2)["fct_us"].to_list() == [6, 6]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [((0, 10), [1, 10]), ((10, 20), [11, 20]), ((20, None), [21])],
)
def test_a_bin_of_sizes_holds_its_upper_edge_and_not_its_lower(
    edges: tuple[int, int | None], expected: list[int]
) -> None:
    flows = flow_table(size_bytes=[1, 10, 11, 20, 21])
    assert completions.within(flows, *edges)["size_bytes"].to_list() == expected


@pytest.mark.parametrize(("edges", "count"), [((0, 1_460), 1), ((1_460, None), 0)])
def test_a_flow_at_the_edge_of_a_bin_of_a_run_is_in_the_bin_below(
    cut_off: sh.Run, edges: tuple[int, int | None], count: int
) -> None:
    complete: pl.DataFrame = completions.completed([cut_off])
    assert completions.within(complete, *edges).height == count


def with_bins(*bins: str) -> sh.Run:
    """Return a run with these edges of size bins."""
    times: dict[str, Any] = {"all": {}, "small": {}, "medium": {}, "large": {}}
    return fake_run(summary={"fct_us": times}, scenario={"measure": {"bins": list(bins)}})


def test_the_first_bin_of_sizes_begins_at_zero_and_the_last_has_no_end() -> None:
    found = {"small": (0, 100_000), "medium": (100_000, 10_000_000), "large": (10_000_000, None)}
    assert completions.size_bins([with_bins("100KB", "10MB")] * 2) == found


def test_runs_with_different_bins_of_sizes_are_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="different size bins"):
        completions.size_bins([with_bins("100KB", "10MB"), with_bins("1KB", "10MB")])
