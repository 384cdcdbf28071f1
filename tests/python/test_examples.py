"""Tests of the scenarios in the package: each has a title, and is copied with the files that it names."""

import json
from pathlib import Path

import pytest

import shallows as sh
from pages import ROOT, blocks
from shallows.errors import ShallowsError
from shallows.examples import FOLDER, Example, copy, examples, find
from shared import Shell


def test_every_scenario_and_fabric_of_the_experiments_is_an_example() -> None:
    wanted = {path for path in FOLDER.glob("*/*.toml") if path.name != "expected.toml"}
    assert {each.path for each in examples()} == wanted | {FOLDER / "advisor/roce-400g.json"}
    assert FOLDER == ROOT / "experiments"
    names = [each.name for each in examples()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_every_example_has_a_title_of_one_sentence(example: Example) -> None:
    assert 15 < len(example.title) < 400
    assert example.title[-1] in '.?"'


def test_the_list_has_groups_and_says_how_to_copy(shell: Shell) -> None:
    listed = shell("examples").stdout
    for words in ("Gallery", "Fabrics, for `shallows advise`", "Paper bcc: `shallows reproduce bcc` runs it"):
        assert f"\n{words}\n" in listed
    for each in examples():
        assert f"\n{each.name} " in listed
    assert listed.endswith("`shallows examples NAME` copies one into this folder.\n")


def test_a_group_is_listed_alone(shell: Shell) -> None:
    found = json.loads(shell("examples", "gallery", "--json").stdout)
    assert {each["name"].partition("/")[0] for each in found} == {"gallery"}
    load = next(each for each in found if each["name"] == "gallery/load")
    assert Path(load["path"]) == FOLDER / "gallery/load.toml"
    assert load["title"].startswith("Web search traffic from 24 servers to 8")


def test_a_copy_comes_with_its_files_and_runs_and_is_never_overwritten(shell: Shell, tmp_path: Path) -> None:
    done = shell("examples", "testbed/mixed")
    assert done.stdout.splitlines() == ["mixed.toml", "mixed.cdf"]
    assert sh.Scenario.load(tmp_path / "mixed.toml").hash == sh.Scenario.load(find("testbed/mixed").path).hash
    (tmp_path / "mixed.toml").unlink()
    (tmp_path / "mixed.cdf").write_text("mine")
    again = shell("examples", "testbed/mixed")
    assert again.returncode == 1
    assert "shallows: mixed.cdf exists already, and is not overwritten" in again.stderr
    assert (tmp_path / "mixed.cdf").read_text() == "mine"
    assert not (tmp_path / "mixed.toml").exists()


def test_files_that_only_schemes_name_are_copied_too(tmp_path: Path) -> None:
    written = copy(find("dctcp/scaled-background"), tmp_path)
    assert {path.name for path in written} == {
        "scaled-background.toml",
        "web-search-x4.cdf",
        "web-search-x10.cdf",
    }


def test_a_wrong_name_gets_the_nearest_one(shell: Shell) -> None:
    refused = shell("examples", "gallery/laod")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "unknown example 'gallery/laod'; did you mean 'gallery/load'?" in refused.stderr
    with pytest.raises(ShallowsError, match="unknown example 'incst'"):
        sh.example("incst")


def test_a_path_of_the_repository_gets_the_command_that_copies_it(shell: Shell) -> None:
    refused = shell("run", "experiments/gallery/load.toml")
    assert refused.returncode == 1
    assert (
        "  `shallows examples gallery/load` copies this scenario into the current folder\n" in refused.stderr
    )


def test_the_readme_and_the_tutorial_need_no_file_of_the_repository() -> None:
    for page in ("README.md", "docs/tutorial.md"):
        for block in blocks(page):
            assert "experiments/" not in block.text, str(block)
