"""The tutorials run as they stand, and show what they say."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "marimo", reason="missing: marimo. Get it with: pip install --require-hashes -r requirements-dev.txt"
)

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def values(name: str) -> dict[str, Any]:
    """What the cells of a notebook leave defined."""
    spec = importlib.util.spec_from_file_location(name, NOTEBOOKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, defined = module.app.run()
    return dict(defined)


def test_the_first_questions_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    defined = values("first_questions")
    low, never = defined["low"], defined["never"]
    assert defined["ratio"] == never.summary["fct_us"]["all"]["max"] / low.summary["fct_us"]["all"]["max"]
    # What the text says: without marks answers are lost, and the slowest waits for a timeout.
    assert defined["ratio"] > 2
    assert never.summary["packets"]["dropped_in_switches"] > low.summary["packets"]["dropped_in_switches"]
    assert len(defined["figure"].legends) == 1


def test_a_sweep_is_written_run_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    defined = values("write_a_sweep")
    assert len(defined["runs"]) == 2 * 2 * 2
    assert len(defined["figure"].axes[0].containers) == 2
    assert [path.name for path in defined["files"]] == ["fct.pdf", "fct.png"]
    assert all(path.stat().st_size > 10_000 for path in defined["files"])


def test_a_notebook_is_a_script_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, NOTEBOOKS / "first_questions.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "runs" / "first-questions").iterdir()) == ["low", "never"]
