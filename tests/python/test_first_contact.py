"""Tests of a new user's first commands: help, suggestions for wrong names, completion, and JSON."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from shallows.cli import main
from shallows.cli.parser import GROUPS, command_line
from shared import Shell

COMMANDS = [name for group in GROUPS.values() for name in group.commands]


def test_help_lists_every_command_in_a_group_with_an_example(shell: Shell) -> None:
    shown = shell("--help").stdout
    for title, group in GROUPS.items():
        listed, example = shown.partition(f"\n{title}:\n")[2].split("\n\n")[:2]
        assert [line.split()[0] for line in listed.splitlines()] == [*group.commands]
        assert example.startswith("  Example: shallows ")
    assert max(map(len, shown.splitlines())) <= 80


def test_without_a_command_the_overview_is_printed_as_an_error(shell: Shell) -> None:
    alone = shell()
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr == shell("--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_in_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    (example,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("example: ")]
    assert f"shallows {name}" in example


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["swep"], "argument COMMAND: invalid choice: 'swep' (choose from 'demo'"),
        (["plot", "fctt", "."], "argument FIGURE: invalid choice: 'fctt' (choose from 'fct'"),
        (["testbed", "rn", "."], "argument ACTION: invalid choice: 'rn' (choose from 'run'"),
    ],
)
def test_a_wrong_name_gets_the_nearest_one_after_the_text_of_argparse(
    shell: Shell, arguments: list[str], suggested: str
) -> None:
    refused = shell(*arguments)
    assert refused.returncode == 2
    last = refused.stderr.splitlines()[-1]
    assert suggested.replace("'", "") in last.replace("'", "")  # later Pythons quote choices otherwise
    wanted = {"swep": "sweep", "fctt": "fct", "rn": "run"}[
        arguments[-1] if arguments[-1] != "." else arguments[-2]
    ]
    assert last.endswith(f"); did you mean '{wanted}'?")


def test_a_name_that_is_near_no_other_gets_the_text_of_argparse_alone(shell: Shell) -> None:
    assert shell("plot", "zzz", ".").stderr.endswith("'ping')\n")


def test_a_wrong_paper_or_figure_gets_the_nearest_one(shell: Shell) -> None:
    assert "unknown paper 'bbc'; did you mean 'bcc'?" in shell("reproduce", "bbc").stderr
    assert "unknown figure 'tabel1'; did you mean 'table1'?" in shell("reproduce", "bcc", "tabel1").stderr


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_names_commands_and_options(shell: Shell, name: str) -> None:
    done = shell("completion", name)
    assert done.returncode == 0, done.stderr
    for word in [*COMMANDS, "heat-map", "htsim", "dilate"]:
        assert word in done.stdout
    if program := shutil.which(name):
        subprocess.run([program, "-n"], input=done.stdout, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["sw"], ["sweep"]),
        (["plot", "heat"], ["heat-map"]),
        (["run", "--th"], ["--threads"]),
        (["run", "lo"], ["load.toml"]),
        (["report", "lo"], ["loads"]),
        (["examples", "gallery/l"], ["gallery/load"]),
        (["reproduce", "mq"], ["mq-ecn"]),
    ],
)
def test_bash_completes_commands_figures_options_files_and_folders(
    shell: Shell, tmp_path: Path, words: list[str], completed: list[str]
) -> None:
    (tmp_path / "load.toml").touch()
    (tmp_path / "loads").mkdir()
    script = shell("completion", "bash").stdout
    line = " ".join(["shallows", *words])
    asked = (
        f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_shallows; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert set(completed) <= set(done.stdout.split())


def test_completion_is_from_the_parser_itself() -> None:
    assert "completion" in COMMANDS
    assert len(COMMANDS) == len(set(COMMANDS))
    assert set(COMMANDS) == {
        name
        for action in command_line()._actions
        for name in (action.choices or ())
        if action.metavar == "COMMAND"
    }


def test_a_report_in_json_has_each_run_and_its_page(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    shell("run", scenario, "--out", "here")
    done = shell("report", "here", "--json")
    assert done.returncode == 0, done.stderr
    (folder,) = json.loads(done.stdout)["folders"]
    (run,) = folder.pop("runs")
    assert folder == {"folder": "here", "report": "here/report.html", "missing": [], "problems": []}
    assert run["summary"] == json.loads((tmp_path / "here" / "summary.json").read_text())
    assert (run["folder"], run["labels"]) == ("here", {})


def test_a_report_in_json_names_missing_and_damaged_points(shell: Shell, finished: Path) -> None:
    first, second = sorted(path.parent for path in finished.glob("*/summary.json"))[:2]
    shutil.rmtree(first)
    (second / "flows.parquet").write_bytes(b"")
    done = shell("report", finished, "--json")
    assert done.returncode == 1
    (folder,) = json.loads(done.stdout)["folders"]
    assert len(folder["runs"]) == 10
    assert all({"scheme", "workload.0.load", "seed"} <= set(run["labels"]) for run in folder["runs"])
    assert len(folder["missing"]) == 2
    (problem,) = folder["problems"]
    assert f"{second} is damaged" in problem


def test_the_doctor_in_json_has_a_verdict_for_each_check(shell: Shell) -> None:
    done = shell("doctor", "--json")
    assert done.returncode == 0, done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {"shallows", "machine", "folder", "engine"} <= set(checks)
    assert checks["engine"]["verdict"] == "ok"
    assert "self-test passed" in checks["engine"]["finding"]
