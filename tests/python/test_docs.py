"""Tests that the scenarios, pictures and examples in the documentation exist and work."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import shallows
from pages import ROOT, blocks
from shallows.figure_names import FIGURES
from shallows.runs.source import Source
from shallows.sweeps.points import plan


def test_every_figure_has_a_command_and_a_small_picture_in_the_gallery() -> None:
    text = (ROOT / "docs/figures.md").read_text(encoding="utf-8")
    commands = [command for block in blocks("docs/figures.md") for command in block.commands]
    drawn = [command.split()[2] for command in commands if command.startswith("shallows plot ")]
    assert sorted(drawn) == sorted(FIGURES)
    for name in FIGURES:
        picture = ROOT / "docs" / "images" / "figures" / f"{name}.png"
        assert f"(images/figures/{name}.png)" in text
        assert picture.stat().st_size <= 60_000


SCENARIOS = sorted(
    path
    for path in ROOT.glob("experiments/*/*.toml")
    # Fabrics of the advisor are no scenarios; test_advise_cookbook.py has them.
    if path.name != "expected.toml" and path.parent.name != "advisor"
)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_of_the_experiments_can_run(path: Path, tmp_path: Path) -> None:
    source = Source.read(path)
    assert source.parse().name
    if "[sweep" in source.text:
        _, points = plan(source, tmp_path)
        assert len(points) >= 2


def modules() -> list[str]:
    """Return the names of the package and of all its modules."""
    inside = pkgutil.walk_packages(shallows.__path__, "shallows.")
    return ["shallows", *(module.name for module in inside if module.name != "shallows._core")]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_print_what_they_say(name: str, tmp_path: Path) -> None:
    # Examples write into `folder`.
    found = doctest.testmod(importlib.import_module(name), extraglobs={"folder": tmp_path})
    assert found.failed == 0


def test_the_public_functions_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    drawing = [getattr(shallows.figures, name.replace("-", "_")) for name in FIGURES]
    for public in (
        shallows.run,
        shallows.Run,
        shallows.Series,
        shallows.example,
        shallows.sweep,
        shallows.Scenario,
        *drawing,
    ):
        assert any(test.examples for test in finder.find(public, public.__name__))
