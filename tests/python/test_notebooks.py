"""Tests that the tutorials run with the packages that `make build` installs, and print what they state."""

import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import shallows as sh
from pages import ROOT

WITHOUT_WHAT_IS_NOT_BUILT = """
import runpy, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"make build does not install {name}", name=name)
sys.meta_path.insert(0, Refuse())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def not_built() -> list[str]:
    """Return the modules that are installed here, but not by `make build`."""
    files = re.search(r"^INSTALLED := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert files
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in files[1].split()]
    installed = {name for text in texts for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    return [
        module
        for module, packages in packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", each).lower() for each in packages} & (installed | {"pip", "shallows"})
    ]


def output(name: str, folder: Path) -> str:
    """Run a notebook as a script, and return its output."""
    refused = not_built()
    assert "hypothesis" in refused
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WHAT_IS_NOT_BUILT, ROOT / "notebooks" / f"{name}.py", *refused],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,  # against what hangs; how long it takes is up to the machine
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_questions_are_answered(tmp_path: Path) -> None:
    said = output("first_questions", tmp_path)
    folder = tmp_path / "runs" / "first-questions"
    low, never = (sh.Run(folder / name) for name in ("low", "never"))
    slowest = {run: run.summary["fct_us"]["all"]["max"] for run in (low, never)}
    # As the text states: without marks, answers are lost, and the slowest one waits for a timeout.
    assert slowest[never] > 2 * slowest[low]
    assert f"{slowest[never]:.0f} µs without marks, {slowest[never] / slowest[low]:.1f} times" in said
    lost = {run: run.summary["packets"]["dropped_in_switches"] for run in (low, never)}
    assert lost[never] > lost[low]
    assert f"The switch loses {lost[never]} packets instead of {lost[low]}." in said
    check_figure(said, "runs/first-questions/fct", tmp_path)


def test_a_sweep_is_written_run_and_drawn(tmp_path: Path) -> None:
    said = output("write_a_sweep", tmp_path)
    assert "8 runs, 0 failed" in said
    for scheme in ("K = 65 KB", "no marks"):
        assert said.count(f"│ {scheme}") == 2 * 2
    check_figure(said, "runs/write-a-sweep/fct", tmp_path)


def check_figure(said: str, stem: str, folder: Path) -> None:
    assert f": {stem}.pdf {stem}.png\n" in said
    assert all((folder / f"{stem}.{kind}").stat().st_size > 10_000 for kind in ("pdf", "png"))
