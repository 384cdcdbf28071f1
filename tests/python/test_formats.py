"""Tests that run folders of an earlier format are read with the keys of the current one."""

import json
from pathlib import Path
from typing import Any

import pytest

import shallows as sh
from shallows.runs import formats
from shared import seal


def test_a_run_of_format_3_is_read_with_the_keys_of_format_4(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    expected = dict(run.summary)
    _write_as_format_3(run.path)
    written = json.loads((run.path / "summary.json").read_text())
    assert {"loss_rate_in_cards"} <= written.keys()
    assert {"dropped_in_cards", "dropped_data_in_cards"} <= written["packets"].keys()
    assert "endless" in written["flows"]
    assert "private" in json.loads((run.path / "resolved.json").read_text())["switch"]["buffer"]
    again = sh.Run(run.path)
    assert dict(again.summary) == expected
    assert again.scenario["switch"]["buffer"].keys() >= {"reserved", "reserved_rule"}
    sh.Run(run.path).verify()


def test_a_run_of_a_format_that_is_not_read_names_the_version_that_wrote_it(
    scenario: Path, tmp_path: Path
) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    for version in (formats.READABLE[0] - 1, formats.FORMAT + 1):
        _change(run.path / "env.json", lambda document, version=version: document.update(format=version))
        seal(run.path)
        with pytest.raises(sh.ShallowsError, match="was written by another version"):
            sh.Run(run.path)


def _write_as_format_3(folder: Path) -> None:
    """Replace the keys and the format number of a run's documents by those of format 3."""

    def old_keys(document: dict[str, Any], renamed: dict[str, str]) -> None:
        for path, new in renamed.items():
            *parents, old = path.split(".")
            place = document
            for key in parents:
                place = place[key]
            place[old] = place.pop(new)

    _change(folder / "summary.json", lambda summary: old_keys(summary, formats.SUMMARY))
    _change(folder / "resolved.json", lambda scenario: old_keys(scenario, formats.SCENARIO))
    _change(folder / "env.json", lambda environment: environment.update(format=3))
    seal(folder)


def _change(path: Path, change: Any) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
