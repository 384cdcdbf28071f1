"""Tests of the command line in a process of its own, as users run it."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shared import SHALLOWS, Shell, wait_until


def test_a_run_prints_tables_and_leaves_a_complete_folder(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    done = shell("run", scenario)
    assert done.returncode == 0, done.stderr
    for expected in ["Marking curves", "Flow completion times", "p99 µs", "packet-hops", "report.html"]:
        assert expected in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("small-")
    assert folder.name.endswith("-s1")
    assert {path.name for path in folder.iterdir()} == {
        "scenario.toml",
        "resolved.json",
        "env.json",
        "flows.parquet",
        "queues.parquet",
        "counters.parquet",
        "markers.parquet",
        "summary.json",
        "manifest.json",
        "report.html",
    }
    assert (folder / "scenario.toml").read_text() == scenario.read_text()


def test_json_is_all_there_is_on_standard_output(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    done = shell("run", scenario, "--json", "--out", "here")
    summary = json.loads(done.stdout)
    assert summary == json.loads((tmp_path / "here" / "summary.json").read_text())
    assert summary["flows"] == {"started": 60, "completed": 60, "unbounded": 0}
    assert set(summary["fct_us"]) == {"all", "small", "medium", "large"}
    assert set(summary["fct_us"]["all"]) == {"count", "mean", "p50", "p95", "p99", "max"}
    assert summary["engine"]["packet_hops"] > 0


def test_an_existing_run_is_refused_and_force_replaces_it(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    assert shell("run", scenario).returncode == 0
    again = shell("run", scenario)
    assert again.returncode == 1
    assert again.stdout == ""
    (folder,) = (tmp_path / "runs").iterdir()
    assert again.stderr == (
        f"shallows: runs/{folder.name} contains a finished run of the same scenario, seed and engine\n"
        f"  show the run with `shallows report runs/{folder.name}`, or replace it with --force\n"
    )
    assert shell("run", scenario, "--force").returncode == 0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [folder.name]


def test_a_folder_of_something_else_is_refused(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    refused = shell("run", scenario, "--out", "mine")
    assert refused.returncode == 1
    assert refused.stderr == (
        "shallows: mine exists and is not a run of Shallows\n  name another folder with --out\n"
    )
    forced = shell("run", scenario, "--out", "mine", "--force")
    assert (forced.returncode, forced.stderr.splitlines()[-2:]) == (1, refused.stderr.splitlines())
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_unwritable_output_is_refused_before_the_run(shell: Shell, endless: Path, tmp_path: Path) -> None:
    # A file in place of a folder: even root cannot write below it.
    (tmp_path / "file").touch()
    refused = shell("run", endless, "--out", "file/below")
    assert refused.returncode == 1
    assert "shallows: file must be a folder" in refused.stderr
    assert "name another folder with --out" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["run", "none.toml"],
            ["shallows: none.toml cannot be read: No such file or directory", "shallows demo"],
        ),
        (
            ["run", "small.toml", "--set", "swich.markers=[]"],
            ["--set swich.markers=[]: swich: unknown key", 'did you mean "switch"?'],
        ),
        (
            ["run", "small.toml", "--set", "nonsense"],
            ["must be KEY=VALUE, such as workload.0.load=0.6, got 'nonsense'"],
        ),
        (["run", "small.toml", "--seed", "-1"], ['must be a whole number, got "-1"']),
        (["sweep", "small.toml"], ["small.toml has no [sweep] table", "shallows run small.toml"]),
        (["sweep", "small.toml", "--jobs", "0"], ["must be at least 1"]),
        (["report", "."], ["shallows: . contains no finished run"]),
        (["plot", "fct", "nowhere"], ["shallows: nowhere does not exist"]),
        (["plot", "heat", "."], ["invalid choice: 'heat'", "fct"]),
        ([], ["usage: shallows", "run a scenario"]),
    ],
)
def test_a_mistake_gets_a_remedy_and_no_traceback(
    shell: Shell, scenario: Path, arguments: list[str], expected: list[str]
) -> None:
    assert scenario.name == "small.toml"
    refused = shell(*arguments)
    assert refused.returncode in {1, 2}
    assert refused.stdout == ""
    for words in expected:
        assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_mistake_in_the_file_is_shown_with_its_line(shell: Shell, scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace('k = "65KB"', 'k = "65kb"'))
    refused = shell("run", scenario)
    assert refused.returncode == 1
    # The marker is on line 12 of the file, which begins with an empty line.
    assert "small.toml:12:" in refused.stderr
    assert '"65kb"' in refused.stderr


def test_a_file_that_is_no_text_is_refused(shell: Shell, scenario: Path) -> None:
    scenario.write_bytes(b"name = \xff")
    refused = shell("run", scenario)
    assert "must be UTF-8 text; byte 7 is invalid" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_cleanly_and_keeps_nothing(
    endless: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [SHALLOWS, "run", endless, "--out", "runs/here"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any((tmp_path / "runs").glob(".here.*.partial")))
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert "interrupted; the results of this run are lost" in errors
    assert list((tmp_path / "runs").iterdir()) == []


def test_report_prints_and_renders_again(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    shell("run", scenario, "--out", "here")
    page = tmp_path / "here" / "report.html"
    first = page.read_text()
    page.unlink()
    done = shell("report", "here")
    assert done.returncode == 0, done.stderr
    assert "Flow completion times" in done.stdout
    assert page.read_text() == first


def test_a_damaged_folder_is_named(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    shell("run", scenario, "--out", "here")
    table = tmp_path / "here" / "flows.parquet"
    table.write_bytes(table.read_bytes()[:100])
    done = shell("report", "here")
    assert done.returncode == 1
    assert "here is damaged: flows.parquet must have " in done.stderr
    assert "run it again with `shallows run " in done.stderr
    assert "Traceback" not in done.stderr


def test_schema_is_a_json_schema(shell: Shell) -> None:
    schema = json.loads(shell("schema").stdout)
    assert {"topology", "switch", "workload"} <= set(schema["properties"])


def test_doctor_finds_the_engine_sound(shell: Shell) -> None:
    done = shell("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "self-test passed" in done.stdout
    assert "packet-hops/s" in done.stdout


def test_a_reader_that_leaves_early_causes_no_noise(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [SHALLOWS, "schema"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=30)


LIGHT = {"cli", "cli.codes", "cli.lazy", "cli.parser", "cli.streams", "errors", "late"}
"""Modules of the package that every command imports."""


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        (["--help"], LIGHT),
        (
            ["plot", "--help"],
            {"cli.options", "cli.options.results", "cli.options.shared", "cli.options.values"}
            | {"figure_names", *LIGHT},
        ),
        (["--version"], {"about", "_core", *LIGHT}),
    ],
)
def test_help_and_version_import_no_library_and_little_of_ours(arguments: list[str], ours: set[str]) -> None:
    code = (
        "import sys, contextlib, io\nfrom shallows.cli import main\nsilence = contextlib.redirect_stdout\n"
        f"with contextlib.suppress(SystemExit), silence(io.StringIO()): main({arguments})\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"polars", "matplotlib", "numpy", "rich", "jinja2"}
    assert {name.removeprefix("shallows.") for name in loaded if name.startswith("shallows.")} == ours


def test_a_prompt_completes_what_is_public() -> None:
    code = (
        "import sys, shallows\nprint(*dir(shallows))\nprint(*shallows.__all__)\n"
        "print('shallows._core' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, public, engine = done.stdout.splitlines()
    assert set(public.split()) <= set(listed.split())
    assert engine == "False"


def test_help_starts_fast() -> None:

    def cost(*command: str) -> float:
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    # Alternately, so that other work on the machine slows both.
    ratios = [cost(SHALLOWS, "--help") / cost(sys.executable, "-c", "pass") for _ in range(21)]
    assert statistics.median(ratios) < 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_import_of_a_native_module_gives_its_exit_code(number: signal.Signals) -> None:
    # PyO3 turns any exception within an import, SystemExit and KeyboardInterrupt too, into a PanicException.
    code = f"""
import os, sys, time
import shallows.cli as cli

class PanicException(BaseException):
    pass

def imported(name):
    try:
        os.kill(os.getpid(), {int(number)})
        time.sleep(10)
    except BaseException:
        raise PanicException(name) from None

cli.import_module = imported
sys.exit(cli.main(["chips"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + number, "")


def test_an_interrupt_during_start_up_ends_the_program_without_a_traceback(tmp_path: Path) -> None:
    # `argparse` is among the first modules that the command line imports: here importing it takes 10 s.
    (tmp_path / "argparse.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "shallows", "chips"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_name_in_brackets_is_printed_as_it_is(scenario: Path, shell: Shell) -> None:
    done = shell("run", scenario, "--set", "name=a [bold] b", "--out", scenario.with_name("named"))
    assert done.returncode == 0, done.stderr
    assert "a [bold] b  seed" in done.stdout + done.stderr
