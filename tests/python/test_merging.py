"""Tests of merging shards: the choice of a copy of each point, and the comparison of results."""

from pathlib import Path

import pytest

from shallows.errors import ShallowsError
from shallows.runs.source import Source
from shallows.sweeps.merging import different, gather
from shallows.sweeps.points import Point
from shared import seal, write_run


def run_folder(folder: Path, text: str = "", **engine: float) -> Path:
    """Write the folder of a finished run; with `text`, also a table with this content."""
    folder.mkdir(parents=True)
    if text:
        (folder / "flows.parquet").write_text(text)
    write_run(folder, {"seed": 1}, {"goodput_gbps": 1.0, "engine": {"events": 5} | engine})
    return folder


def point(folder: Path) -> Point:
    """Return an unfinished point whose folder is named after the run's hash."""
    return Point(Source("x.toml", "", labels={"seed": folder.name}), folder.name, folder, is_finished=False)


def test_speed_and_memory_of_a_machine_make_no_two_results_differ(tmp_path: Path) -> None:
    one = run_folder(tmp_path / "1/point", wall_s=1.0, packet_hops_per_s=2.0, peak_rss_mb=3.0)
    two = run_folder(tmp_path / "2/point", wall_s=9.0, packet_hops_per_s=9.0, peak_rss_mb=9.0)
    assert different(one, two) is None
    assert different(one, run_folder(tmp_path / "3/point", events=6)) == "summary.json"


def test_results_differ_by_a_table_or_the_lack_of_one(tmp_path: Path) -> None:
    one, other, without = (
        run_folder(tmp_path / str(n) / "point", text) for n, text in enumerate(("x", "y", ""))
    )
    assert different(one, one) is None
    assert different(one, other) == "flows.parquet"
    assert different(one, without) == different(without, one) == "flows.parquet"


def test_remarks_in_a_scenario_make_no_two_results_differ(tmp_path: Path) -> None:
    folders = [run_folder(tmp_path / text / "point") for text in ("a", "b")]
    for folder in folders:
        (folder / "scenario.toml").write_text(folder.parent.name)
        seal(folder)
    assert different(*folders) is None


def test_a_summary_that_is_no_table_is_compared_as_it_is(tmp_path: Path) -> None:
    def of(name: str, summary: object) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        write_run(folder, {"seed": 1}, summary)  # type: ignore[arg-type]
        return folder

    plain = of("plain", {"engine": 3})
    assert different(plain, of("number", {"engine": 4})) == "summary.json"
    assert different(plain, of("list", [1])) == "summary.json"
    assert different(of("same", [1]), of("again", [1])) is None
    (plain / "summary.json").write_text("{")
    with pytest.raises(ShallowsError, match=r"summary\.json cannot be read"):
        different(plain, tmp_path / "number")


def test_a_point_is_gathered_from_the_folder_that_has_its_whole_run(tmp_path: Path) -> None:
    here, there = tmp_path / "all", tmp_path / "part"
    here.mkdir()
    points = [point(here / name) for name in ("a", "b", "c")]
    run_folder(there / "a", "from the part")
    # The folder of b holds a different run.
    run_folder(there / "other").rename(there / "b")
    own = run_folder(here / "c", "mine")
    written = own.stat().st_ino
    run_folder(there / "c", "mine")
    missing, problems = gather(points, [there], here)
    assert (missing, problems) == ([points[1]], [])
    assert (here / "a/flows.parquet").read_text() == "from the part"
    # Existing copies are not written again.
    assert own.stat().st_ino == written


def test_two_copies_of_a_point_that_differ_are_refused(tmp_path: Path) -> None:
    here = tmp_path / "all"
    run_folder(here / "a", "x")
    run_folder(tmp_path / "more/a", "y")
    with pytest.raises(ShallowsError, match=r"flows\.parquet differs between"):
        gather([point(here / "a")], [tmp_path / "more"], here)


def test_a_damaged_copy_is_gathered_only_where_hashes_are_not_compared(tmp_path: Path) -> None:
    part, here = tmp_path / "part", tmp_path / "all"
    copy = run_folder(part / "one", "abc")
    (copy / "flows.parquet").write_text("abd")
    here.mkdir()
    wanted = point(here / "one")
    missing, problems = gather([wanted], [part], here, verify=True)
    assert (missing, len(problems)) == ([wanted], 1)
    assert gather([wanted], [part], here) == ([], [])
    assert wanted.has_results


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("")
    with pytest.raises(ShallowsError, match="is not a folder"):
        gather([], [file], tmp_path)
