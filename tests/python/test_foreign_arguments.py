"""Tests of imports with settings that programs derived from HPCC take as arguments."""

import re
from pathlib import Path

import pytest

import shallows
from shallows.errors import ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.hpcc_config import Arguments
from shallows.foreign.ignoring import Ignored
from shared import Shell
from test_foreign_roce import configured


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


@pytest.mark.parametrize(
    ("control", "mode"), [("dcqcn", 1), ("hpcc", 3), ("timely", 7), ("dctcp", 8), ("hpcc-pint", 10)]
)
def test_a_control_of_the_options_has_the_parameters_of_its_mode(hpcc: Path, control: str, mode: int) -> None:
    expected = configured(hpcc, mode)
    config = hpcc / "config.txt"
    config.write_text(config.read_text().replace(f"CC_MODE {mode}\n", "CC_MODE 2\n"))
    found = import_hpcc(hpcc, arguments=Arguments(control=control))
    assert (found.tables, found.comments) == (expected.tables, expected.comments)
    assert f"--control {control} replaces CC_MODE 2" in found.notes


def test_powertcp_has_the_constants_of_ns3_datacenter(hpcc: Path) -> None:
    configured(hpcc, 3)
    found = [import_hpcc(hpcc, arguments=Arguments(control=name)) for name in ("powertcp", "theta-powertcp")]
    # 150 Mb/s in the round-trip time of 8,180 ns are 153.4 bytes, in 1.05 times that 161.0.
    assert [made.tables["roce"]["congestion"] for made in found] == [
        {
            "kind": "powertcp",
            "weight": 0.9,
            "additive_increase": "153B",
            "base_rtt": "8180ns",
            "min_rate": "100Mbps",
        },
        {
            "kind": "theta-powertcp",
            "weight": 0.7,
            "additive_increase": "161B",
            "base_rtt": "8589ns",
            "min_rate": "100Mbps",
        },
    ]
    for made in found:
        # 1,000 bytes of data, 48 of headers and 42 of telemetry, without the RETH.
        assert made.tables["topology"]["mtu"] + made.tables["topology"]["framing"] - 16 == 1_090
        assert "Acknowledgements have 94 bytes; HPCC's have 88." in made.comments["roce"]


@pytest.mark.parametrize(
    ("control", "more", "message"),
    [
        ("bbr", "", "--control must be one of dcqcn, hpcc, hpcc-pint, timely, dctcp, powertcp, theta-"),
        ("powertcp", "VAR_WIN 0\n", "VAR_WIN: 0 (a fixed window of HPCC) is not modelled; only 1 is"),
        ("powertcp", "HAS_WIN 0\n", "HAS_WIN: 0 (no window) is not modelled; only 1 is"),
        (
            "theta-powertcp",
            "FAST_REACT 0\n",
            "FAST_REACT: 0 (one update in a round-trip time) is not modelled",
        ),
        ("powertcp", "SAMPLE_FEEDBACK 1\n", "SAMPLE_FEEDBACK: 1 (no update while queues are empty) is not"),
    ],
)
def test_a_control_that_the_scenario_cannot_have_is_refused(
    hpcc: Path, control: str, more: str, message: str
) -> None:
    configured(hpcc, 3)
    with (hpcc / "config.txt").open("a") as file:
        file.write(more)
    with pytest.raises(ShallowsError, match=re.escape(message)):
        import_hpcc(hpcc, arguments=Arguments(control=control))


def test_a_control_of_the_options_excludes_ignoring_the_mode(hpcc: Path) -> None:
    with pytest.raises(ShallowsError, match="--control replaces CC_MODE, so --ignore CC_MODE has no effect"):
        import_hpcc(hpcc, Ignored(["CC_MODE"]), Arguments(control="hpcc"))


@pytest.mark.parametrize("control", ["powertcp", "theta-powertcp"])
def test_powertcp_slows_an_incast_down(hpcc: Path, control: str, shell: Shell, tmp_path: Path) -> None:
    (hpcc / "flow.txt").write_text("2\n0 3 3 100 1000000 0\n1 3 3 100 1000000 0\n")
    configured(hpcc, 3)
    made = shell("import", "hpcc", hpcc, "--control", control, "-o", "mine.toml")
    assert made.returncode == 0, made.stderr
    run = shallows.run(tmp_path / "mine.toml", out=tmp_path / "run")
    assert run.summary["queue_pairs"]["cuts"] > 0
    # 2,000 packets of 1,110 bytes on the wire take 177.6 us at 100 Gb/s.
    assert 177.6 < max(run.flows["fct_us"].to_list()) < 2 * 177.6
