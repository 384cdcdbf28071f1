"""Tests of the imports of commands: large libraries take longer to load than a short run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shallows as sh
from shared import SMALL

HEAVY = {"polars", "numpy", "matplotlib", "jinja2", "asyncio"}

QUERIES = Path(__file__).parents[2] / "experiments" / "models" / "partition-aggregate.toml"

PING = """
[stop]
at = "10ms"
[[workload]]
kind = "ping"
senders = "0"
receivers = "1"
interval = "100us"
"""


def imported(*arguments: object, folder: Path) -> set[str]:
    """Run a command in a process of its own, and return the libraries that it imported."""
    code = (
        "import sys, contextlib\nfrom shallows.cli import main\n"
        f"with contextlib.suppress(SystemExit): assert main({[*map(str, arguments)]}) == 0\n"
        "print('imported:', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder, env=os.environ
    )
    modules = done.stdout.rpartition("imported:")[2].split()
    return {name for name in modules if "." not in name}


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A scenario file that records nothing over time."""
    path = tmp_path / "short.toml"
    path.write_text(SMALL.replace('[measure]\nsample_queues = "50us"\n', ""), encoding="utf-8")
    return path


def test_a_short_run_imports_no_library_for_tables_numbers_or_figures(short: Path) -> None:
    for arguments in (["run", short], ["run", short, "--by", "port", "--force"], ["plan", short]):
        assert not imported(*arguments, folder=short.parent) & HEAVY
    (run,) = (short.parent / "runs").iterdir()
    assert (run / "report.html").is_file()


def test_a_run_with_pings_imports_none_either(short: Path) -> None:
    short.write_text(short.read_text(encoding="utf-8") + PING, encoding="utf-8")
    assert not imported("run", short, "--out", "pings", folder=short.parent) & HEAVY
    page = (short.parent / "pings" / "report.html").read_text(encoding="utf-8")
    assert "share of echoes" in page


def test_a_run_with_queries_imports_none_either(tmp_path: Path) -> None:
    arguments = ["run", QUERIES, "--set", "workload.0.queries=5", "--out", "queries"]
    assert not imported(*arguments, folder=tmp_path) & HEAVY
    assert "share of queries" in (tmp_path / "queries" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["schema"]])
def test_help_and_the_schema_import_none(arguments: list[str], tmp_path: Path) -> None:
    assert not imported(*arguments, folder=tmp_path) & HEAVY


def test_a_figure_by_name_does_not_import_those_of_other_modules(tmp_path: Path) -> None:
    code = "import sys, shallows\nshallows.figures.queue\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = set(done.stdout.split())
    assert "shallows.figures.over_time" in loaded
    assert "shallows.figures.against" not in loaded
    assert all(callable(getattr(sh.figures, name)) for name in sh.figures.__all__ if name != "STYLE")
