"""Tests that names in files cannot move a terminal's cursor or change its colours, in any command."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.text import Text

from shallows.cli import streams
from shallows.cli.console import console
from shared import SMALL, Shell
from sonic_files import leaf

NAME = "x\x1b[31m\x9b5m\x07\r\x7f\u202e[bold]:smile:y"
"""ESC and CSI (colours), BEL (bell), CR (line start), RLO (text direction); rich's markup and emoji."""

CLASS = "x\x1b[31m\x9b5m[bold]"
"""Name of a class; goals that contain this name are split at blanks and line ends."""

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")

FABRIC = """
name = "rack"
chip = "trident3"
goal = GOAL
links = { rate = "25Gbps", rtt = "40us", ports = 8, uplinks = { count = 2, rate = "100Gbps" } }
traffic = { load = 0.5 }
simulated = { flows = 20, hosts = 4 }

[[class]]
name = "web"
share = 0.5
sizes = "web-search"

[[class]]
name = NAME
share = 0.5
sizes = "hadoop"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A SONiC file in which a switch, a profile, a scheduler, a field and a value are all called `NAME`."""
    tables = leaf()
    tables["DEVICE_METADATA"]["localhost"]["hostname"] = NAME
    tables["WRED_PROFILE"][NAME] = tables["WRED_PROFILE"]["LOSSY"] | {NAME: NAME}
    tables["SCHEDULER"][NAME] = {"type": NAME}
    for row in tables["QUEUE"].values():
        row |= {"wred_profile": NAME, "scheduler": NAME}
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(tables))
    return path


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    """A fabric's file with a class named `CLASS`."""
    path = tmp_path / "rack.toml"
    goal = f"p99 of small flows of {CLASS} below 2 ms, then throughput"
    text = FABRIC.replace("GOAL", streams.escaped(json.dumps(goal)))
    path.write_text(text.replace("NAME", streams.escaped(json.dumps(CLASS))))
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "CONFIG"),
        ("explain", "CONFIG", "--json"),
        ("explain", "CONFIG", "--html", "page-[bold]\x1b[31m.html"),
        ("advise", "FABRIC", "--rules-only"),
        ("advise", "FABRIC", "--rules-only", "--json"),
        ("advise", "FABRIC", "--rules-only", "--config", "CONFIG"),
        ("export", "switch", "CONFIG", "--to", "eos"),
        ("export", "switch", "CONFIG", "--to", "tc"),
        ("export", "switch", "CONFIG", "--to", "sonic"),
        ("explain", "none-\x1b[31m\x9b.json"),
        ("explain", "CONFIG", "--\x1b[31m\x9b"),
        ("report", "none-\udcff"),
    ],
)
def test_no_command_prints_a_control_character(
    command: tuple[str, ...], config: Path, fabric: Path, shell: Shell
) -> None:
    done = shell(*({"CONFIG": config, "FABRIC": fabric}.get(word, word) for word in command))
    assert done.stdout or done.stderr
    assert not COMMANDS.findall(done.stdout + done.stderr)
    assert "Traceback" not in done.stderr


def test_advice_names_a_class_with_its_brackets(fabric: Path, shell: Shell) -> None:
    done = shell("advise", fabric, "--budget", "1s", "--jobs", "1", "--to", "eos")
    assert done.returncode == 0, done.stderr
    assert not COMMANDS.findall(done.stdout + done.stderr)
    assert r"small flows of x\u001b[31m\u009b5m[bold]" in done.stdout


def test_json_has_names_as_they_are(config: Path, shell: Shell) -> None:
    document = json.loads(shell("explain", config, "--json").stdout)
    assert document["name"] == NAME


def test_a_name_of_a_scenario_has_no_markup(tmp_path: Path, shell: Shell) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(SMALL.replace('name = "small"', 'name = "a [bold] b :smile:"'))
    done = shell("run", scenario, "--out", tmp_path / "run")
    assert "a [bold] b :smile:" in done.stdout
    assert "a [bold] b :smile:" in shell("report", tmp_path / "run").stdout


def test_colours_of_ours_reach_a_terminal_and_those_of_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with streams.escaping():
        print("\x1b[31mplain")
        console().print(Text("\x1b[31mbold", style="bold"))
    plain, bold = screen.getvalue().splitlines()
    assert plain == r"\u001b[31mplain"
    assert bold == "\x1b[1m\\u001b[31mbold\x1b[0m"
