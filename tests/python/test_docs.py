"""What the documents tell a user to type works as written."""

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import shallows
from shallows.cli import FIGURES, _parser
from shallows.points import plan
from shallows.running import Source

ROOT = Path(__file__).parents[2]


def commands(document: str) -> list[str]:
    """Lines of code blocks that call the command line, without their comments."""
    blocks = re.findall(r"```\w*\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("shallows ")]


@pytest.mark.parametrize(
    "command", commands("README.md") + commands("docs/figures.md") + commands("docs/captures.md")
)
def test_commands_of_the_documents_are_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = _parser().parse_args(shlex.split(command)[1:])
    if "scenario" in options:
        Source.read(options.scenario, tuple(options.overrides)).load()


@pytest.mark.parametrize(
    "command", commands("docs/sweeps.md") + commands("docs/reproduction.md") + commands("docs/import.md")
)
def test_commands_that_are_not_tried_here_are_understood(command: str) -> None:
    assert _parser().parse_args(shlex.split(command)[1:]).command


def test_there_are_commands_in_the_readme() -> None:
    assert len(commands("README.md")) >= 5


def test_every_figure_has_a_command_and_a_small_picture_in_the_gallery() -> None:
    text = (ROOT / "docs/figures.md").read_text(encoding="utf-8")
    drawn = [line.split()[2] for line in commands("docs/figures.md") if line.startswith("shallows plot ")]
    assert sorted(drawn) == sorted(FIGURES)
    for name in FIGURES:
        picture = ROOT / "docs" / "images" / "figures" / f"{name}.png"
        assert f"(images/figures/{name}.png)" in text
        assert picture.stat().st_size <= 60_000


SCENARIOS = sorted(path for path in ROOT.glob("experiments/*/*.toml") if path.name != "expected.toml")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_of_the_experiments_can_run(path: Path, tmp_path: Path) -> None:
    source = Source.read(path)
    assert source.load().name
    if "[sweep" in source.text:
        _, points = plan(source, tmp_path)
        assert len(points) >= 2


def modules() -> list[str]:
    """Every module of the package, and the package itself."""
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
    for public in (shallows.run, shallows.Run, shallows.example, shallows.sweep, shallows.Scenario, *drawing):
        assert any(test.examples for test in finder.find(public, public.__name__))
