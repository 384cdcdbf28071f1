"""Tests of names in other vendors' formats: written as a name or left out, never as a command or option."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shallows.advisor.candidates import candidates
from shallows.advisor.configuration import PortProfile, Setting, Switch
from shallows.advisor.configured import configured
from shallows.advisor.fabric import Fabric
from shallows.advisor.readers import reader
from shallows.advisor.writers import FORMATS, hosts, write
from shallows.errors import ShallowsError
from shared import Shell
from vendors import read, sample

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"
OTHERS = [format_ for format_ in FORMATS if format_ != "sonic"]

HARM = [
    "E; reboot",
    "$(touch X)",
    "E\nreboot",
    "E`reboot`",
    "E | reboot",
    "-E",
    "E\x1b[2J",
    "",
    "E" * 129,
    "É",
    "E\t2",
]


def sonic(port: str, *, scheduler: str = "s", profile: str = "W", pool: str = "p") -> Switch:
    """Return a switch with two ports, one of which has this name."""
    tables: dict[str, Any] = {
        "PORT": {port: {"speed": "100000"}, "Ethernet4": {"speed": "100000"}},
        "SCHEDULER": {scheduler: {"type": "DWRR", "weight": "10"}},
        "WRED_PROFILE": {
            profile: {"ecn": "ecn_all", "green_min_threshold": "1000", "green_max_threshold": "2000"}
        },
        "BUFFER_POOL": {pool: {"type": "egress", "mode": "dynamic", "size": "10000000"}},
        "QUEUE": {
            f"{name}|3": {"scheduler": scheduler, "wred_profile": profile} for name in (port, "Ethernet4")
        },
    }
    return reader("sonic").read(json.dumps(tables), "config_db.json")


@pytest.mark.parametrize("name", HARM)
@pytest.mark.parametrize("to", FORMATS)
def test_a_port_that_cannot_be_called_so_is_listed_and_not_written(to: str, name: str) -> None:
    text = write(to, None, sonic(name))
    assert "reboot" not in text.change + text.rollback
    assert "touch" not in text.change + text.rollback
    assert text.change == write(to, None, sonic("Ethernet4")).change
    if name:  # a row without a key names no port: the reader lists it
        assert any(each.startswith("ports that cannot be called so: ") for each in text.inexpressible)


@pytest.mark.parametrize("to", FORMATS)
def test_ports_that_cannot_be_called_so_are_not_made_those_of_everything(to: str) -> None:
    switch = sonic("E; reboot")
    [queues] = {profile.queues for profile in switch.profiles}
    alone = replace(switch, profiles=(PortProfile(("E; reboot",), 10**11, queues),))
    change = write(to, None, alone).change
    for whole in ("$DEV", "system qos", "traffic-class 3", "queue 3", "Ethernet"):
        assert whole not in change


@pytest.mark.parametrize("name", ["s; reboot", "$(reboot)", "s\nreboot", 's" reboot'])
@pytest.mark.parametrize("to", OTHERS)
def test_other_names_that_are_none_have_one_of_ours_or_none(to: str, name: str) -> None:
    text = write(to, None, sonic("Ethernet0", scheduler=name, profile=name, pool=name))
    assert "reboot" not in text.change + text.rollback
    assert {
        each.partition(" of a ")[2].split(":")[0] for each in text.inexpressible if "the name" in each
    } == {
        "scheduler",
        "marking",
        "pool",
    }
    # The marks themselves are written, under whatever name.
    if to != "junos":  # whose thresholds are percent
        assert "1000" in text.change or "1 kbytes" in text.change or "min: 1" in text.change


def test_in_its_own_format_another_name_would_be_of_something_else_and_is_refused() -> None:
    for told in ({"scheduler": "s; reboot"}, {"profile": "W W"}, {"pool": "p|p"}):
        switch = sonic("Ethernet0", **told)
        with pytest.raises(ShallowsError, match=r"is invalid in sonic") as refused:
            write("sonic", switch, switch)
        assert "letters, digits" in refused.value.remedy


def test_a_policy_of_nxos_has_at_most_forty_characters() -> None:
    # Cisco's guide: up to 40 characters.
    switch = sonic("Ethernet0")
    for length, kept in ((40, True), (41, False)):
        named = replace(switch, profiles=tuple(replace(each, name="P" * length) for each in switch.profiles))
        assert ("P" * length in write("nxos", None, named).change) is kept


def test_a_port_of_linux_has_at_most_fifteen_characters() -> None:
    # IFNAMSIZ is 16, with the NUL at its end.
    for length, kept in ((15, True), (16, False)):
        name = "E" * length
        for to in ("tc", "nvue"):
            assert (name in write(to, None, sonic(name)).change) is kept


# As `tc -d qdisc show` prints it; without `-d` neither the average nor the probability is known.
RED = "qdisc red 1: dev eth1 root limit 9000b min 1000b max 2000b ecn ewma 4 probability 0.1 Scell_log 9"


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("net.ipv4.tcp_ecn = 1", "net.ipv4.tcp_ecn=1"),
        ("sysctl -w 'net.ipv4.tcp_ecn=1 kernel.sysrq=1'", None),
        ("sysctl -w net.ipv4.tcp_ecn=$(reboot)", None),
        ("ip route replace 10.0.0.0/8 dev eth0 rto_min 5ms", "rto_min 5ms"),
        ("ip route replace 10.0.0.0/8 dev eth0 rto_min 5ms ';' reboot", None),
        ("ip route replace '10.0.0.0/8; reboot' dev eth0 rto_min 5ms", None),
        ("tc qdisc replace dev 'e; reboot' root handle 1: red limit 9000 min 1000 max 2000", None),
    ],
)
def test_what_linux_is_told_is_one_word_or_listed(line: str, written: str | None) -> None:
    switch = read("tc", f"{line}\n{RED}\n")
    text = write("tc", None, switch)
    assert "eth1" in text.change
    assert all(word not in text.change for word in ("reboot", "sysrq"))
    assert (written or "eth1") in text.change
    lost = [each for each in text.inexpressible if "burst" not in each]
    assert bool(lost or switch.unread) is (written is None)


def test_a_setting_of_one_vendor_is_none_of_another() -> None:
    # The empty key of a row would have made it a setting of the whole switch, and its value two lines of EOS.
    tables = {
        "PFC_WD": {"": {"timeout": "1\nreboot"}},
        "WRED_PROFILE": {"W": {"ecn": "ecn_all"}},
    }
    switch = reader("sonic").read(json.dumps(tables), "x")
    for to in OTHERS:
        text = write(to, None, switch)
        assert "reboot" not in text.change
        assert "settings that sonic alone has: pfc-watchdog.timeout" in text.inexpressible


def test_names_in_quotation_marks_are_not_made_words_of_their_own() -> None:
    text = sample("junos").replace("RDMA", '"RDMA priority high"')
    switch = read("junos", text)
    assert any("RDMA priority high" in each.text for each in switch.unread)
    assert "priority high" not in write("junos", None, switch).change


def test_a_wildcard_of_junos_is_a_name_there_and_nowhere_else() -> None:
    text = sample("junos").replace("et-0/0/0", "et-*")
    switch = read("junos", text)
    assert "interfaces et-* scheduler-map" in write("junos", None, switch).change
    assert "et-*" not in write("eos", None, switch).change


def test_an_interface_of_a_nic_is_one_word() -> None:
    with pytest.raises(ShallowsError, match="not a valid port name"):
        hosts.nic(None, hosts.Nic("eth0; reboot"))


@pytest.mark.parametrize("to", OTHERS)
def test_advice_has_no_name_that_is_none(to: str) -> None:
    fabric = Fabric.load(EXAMPLES / "leaf-spine-25g.toml")
    made = configured(to, sonic("E; reboot", scheduler="s\nreboot"), fabric, candidates(fabric)[0])
    assert "reboot" not in made.change + made.rollback
    assert any("ports that cannot be called so" in each for each in made.left_out)


@pytest.mark.parametrize("to", FORMATS)
def test_the_command_writes_no_harm_and_moves_no_cursor(tmp_path: Path, shell: Shell, to: str) -> None:
    tables = {
        "PORT": {"E; reboot": {}, "E\x1b[2J": {}, "Ethernet0": {"speed": "1", "\x1b[31m": "x"}},
        "WRED_PROFILE": {"W\x1b[2J": {"ecn": "ecn_all", "\x1b[31m": "x"}},
        "QUEUE": {"E; reboot|3": {"wred_profile": "W\x1b[2J"}, "E\x1b[2J|3": {}},
    }
    (tmp_path / "config_db.json").write_text(json.dumps(tables))
    done = shell("export", "switch", tmp_path / "config_db.json", "--to", to)
    assert done.returncode == (1 if to == "sonic" else 0)
    assert "\x1b" not in done.stdout + done.stderr
    assert "reboot" not in done.stdout
    assert "Traceback" not in done.stderr


def test_settings_are_words_and_numbers() -> None:
    switch = read("eos", sample("eos"))
    harm = (
        Setting("pfc-watchdog.timeout", "1; reboot"),
        Setting("drop-precedence-;.alpha", "1", "queue 3"),
        Setting("trust", "dscp reboot", "interface Ethernet1/1"),
        Setting("trust", "dscp", "interface Ethernet1/1;reboot"),
    )
    for each in harm:
        text = write("eos", None, replace(switch, settings=(*switch.settings, each)))
        assert text.change == write("eos", None, switch).change
        assert text.inexpressible
