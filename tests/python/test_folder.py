"""What run folders replace, bring back and leave alone."""

from pathlib import Path

import pytest

from shallows import folder
from shallows.errors import ShallowsError
from shared import Shell

NO_PROCESS = 2**31 - 1
"""No process has the highest number that fits into 31 bits."""


def test_the_clean_up_touches_only_what_runs_of_this_name_leave(tmp_path: Path) -> None:
    kept = [".one.notes.2024", ".one.partial", f".one.{NO_PROCESS}.bak", f".one.b.{NO_PROCESS}.partial"]
    for name in kept:
        (tmp_path / name).mkdir()
    with folder.RunFolder(tmp_path / "one"):
        assert all((tmp_path / name).is_dir() for name in kept)


def test_a_run_that_was_moved_aside_goes_once_its_successor_is_there(tmp_path: Path) -> None:
    final, aside = tmp_path / "one", tmp_path / f".one.{NO_PROCESS}.replaced"
    aside.mkdir()
    (aside / "summary.json").touch()
    folder.clean_up(final)
    assert (final / "summary.json").exists()
    aside.mkdir()
    folder.clean_up(final)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert (final / "summary.json").exists()


def test_a_commit_never_replaces_what_is_no_run(tmp_path: Path) -> None:
    final = tmp_path / "one"
    with folder.RunFolder(final) as unfinished:
        final.mkdir()
        (final / "thesis.tex").touch()
        with pytest.raises(ShallowsError, match="no run of ours"):
            unfinished.commit()
    assert (final / "thesis.tex").exists()


def test_a_report_that_cannot_be_written_still_prints_its_tables(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    shell("run", scenario, "--out", "here")
    # A folder where the page should be: not even root can replace it with a file.
    (tmp_path / "here" / "report.html").unlink()
    (tmp_path / "here" / "report.html").mkdir()
    done = shell("report", "here")
    assert done.returncode == 1
    assert "Flow completion times" in done.stdout
    assert done.stderr == (
        "shallows: here/report.html cannot be written: Is a directory\n"
        "  free some space, or make its folder writable\n"
    )
