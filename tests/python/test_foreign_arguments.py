"""Tests of imports with settings that programs derived from HPCC take as arguments."""

import re
import shutil
from pathlib import Path

import pytest

from pages import ROOT
from shallows.errors import ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.hpcc_config import Arguments
from shared import Shell

FILES = ROOT / "experiments" / "foreign" / "hpcc"


@pytest.fixture
def hpcc(tmp_path: Path) -> Path:
    """A folder with HPCC's three files: two switches with two hosts each."""
    return Path(shutil.copytree(FILES, tmp_path / "mix"))


def without(config: Path, key: str) -> None:
    """Remove the line of a key."""
    config.write_text(re.sub(rf"^{key} .*\n", "", config.read_text(), flags=re.MULTILINE))


def test_topology_and_flows_are_those_of_the_options(hpcc: Path, shell: Shell, tmp_path: Path) -> None:
    expected = import_hpcc(hpcc)
    # SimAI.conf names no topology, and a list of flows in a folder of its authors.
    config = hpcc / "config.txt"
    without(config, "TOPOLOGY_FILE")
    config.write_text(config.read_text().replace("FLOW_FILE flow.txt", "FLOW_FILE /etc/flow1.txt"))
    topology, flow = ((hpcc / f"{name}.txt").rename(tmp_path / name) for name in ("topology", "flow"))
    found = import_hpcc(config, arguments=Arguments(topology=topology, flow=flow))
    assert (found.tables, found.flows) == (expected.tables, expected.flows)
    assert found.origin == "HPCC's config.txt, topology and flow"
    made = shell("import", "hpcc", config, "--topology", topology, "--flow", flow, "-o", "mine.toml")
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(("key", "option"), [("TOPOLOGY_FILE", "--topology"), ("FLOW_FILE", "--flow")])
def test_a_missing_file_is_an_error_that_names_key_and_option(hpcc: Path, key: str, option: str) -> None:
    config = hpcc / "config.txt"
    config.write_text(config.read_text().replace(f"{key} ", f"{key} no/"))
    with pytest.raises(ShallowsError) as refused:
        import_hpcc(hpcc)
    assert f"the file of {key} does not exist" in str(refused.value)
    assert f"correct the path, name the file: {option} FILE, or name the folder" in str(refused.value)
    without(config, key)
    with pytest.raises(ShallowsError) as refused:
        import_hpcc(hpcc)
    assert str(refused.value) == (
        f"{config}: {key} is missing\n  add the line `{key} FILE`, or name the file: {option} FILE"
    )
    given = Arguments(topology=hpcc / "none.txt", flow=hpcc / "none.txt")
    with pytest.raises(ShallowsError, match=r"none\.txt"):
        import_hpcc(hpcc, arguments=given)


def test_a_stop_time_above_a_day_becomes_a_day_with_a_note(hpcc: Path) -> None:
    config = hpcc / "config.txt"
    config.write_text(config.read_text().replace("STOP_TIME 4", "STOP_TIME 40000000000000.00"))
    imported = import_hpcc(hpcc)
    assert imported.tables["stop"] == {"at": "86400s"}
    note = "SIMULATOR_STOP_TIME 40000000000000.00 is longer than a day; the scenario stops after a day"
    assert note in imported.notes
