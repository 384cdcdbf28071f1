"""Tests of a run that measured nothing: this is shown in the terminal, report, JSON, exit code and Python."""

import json
from pathlib import Path

import pytest

import shallows as sh
from shared import Shell

# A flow of 1 MB takes 0.8 ms; `at` is the time at which the run ends.
BIG = """
name = "big"
stop.at = "500us"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
[[workload]]
kind = "incast"
senders = 1
receivers = 0
size = "1MB"
"""

ENDS = """
[sweep.axes]
"stop.at" = ["500us", "20ms"]
"""

NOTHING = "nothing was measured: no counted flow"
UNFINISHED = (
    "workload[0] completed no flows: the counted flows (1) were unfinished at the end of the run at 500us"
)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A scenario file with one flow, which is unfinished at the end."""
    path = tmp_path / "big.toml"
    path.write_text(BIG)
    return path


def test_a_run_that_measured_nothing_says_so_everywhere(shell: Shell, big: Path, tmp_path: Path) -> None:
    done = shell("run", big, "--out", "here")
    assert done.returncode == 3, done.stderr
    output = " ".join(done.stdout.split())
    assert f"problem: {NOTHING}" in output
    assert f"problem: {UNFINISHED}" in output
    assert UNFINISHED in (tmp_path / "here" / "report.html").read_text()
    run = sh.Run(tmp_path / "here")
    assert run.measured_nothing
    assert [problem["code"] for problem in run.problems] == ["nothing-measured", "nothing-complete"]
    assert repr(run).endswith(", measured nothing)")
    assert NOTHING in " ".join(shell("report", "here").stdout.split())


def test_json_carries_problems_and_the_exit_code_is_the_same(shell: Shell, big: Path) -> None:
    done = shell("run", big, "--json", "--out", "here")
    assert done.returncode == 3
    assert json.loads(done.stdout)["problems"][1] == {"code": "nothing-complete", "text": UNFINISHED}
    assert f"problem: {NOTHING}" in " ".join(done.stderr.split())


def test_a_run_that_measured_something_has_exit_code_0_and_says_what_is_missing(
    shell: Shell, big: Path
) -> None:
    done = shell("run", big, "--set", "measure.sample_queues=10us", "--out", "sampled")
    assert done.returncode == 0, done.stderr
    assert UNFINISHED in " ".join(done.stdout.split())
    whole = shell("run", big, "--set", "stop.at=20ms", "--json", "--out", "whole")
    assert whole.returncode == 0
    assert json.loads(whole.stdout)["problems"] == []
    assert "problem" not in whole.stderr


def test_a_warm_up_that_lasts_longer_than_the_run_is_warned_of_before_it(shell: Shell, big: Path) -> None:
    text = big.read_text().replace('stop.at = "500us"\n', "")
    big.write_text(text)
    done = shell("run", big, "--set", "measure.warm_up=1s", "--json")
    assert done.returncode == 3
    output = " ".join(done.stderr.split())
    assert "warning: no flow of workload[0] is measured: the last flow begins at 0" in output
    assert output.index("warning: no flow") < output.index("problem: nothing was measured")
    assert json.loads(done.stdout)["problems"][1]["code"] == "nothing-counted"


def test_a_list_whose_flows_are_all_too_late_is_refused(shell: Shell, big: Path, tmp_path: Path) -> None:
    (tmp_path / "late.csv").write_text("start_ns,source,destination,bytes\n600000,1,2,1000\n")
    done = shell("run", big, "--set", "workload.0={ kind = 'trace', path = 'late.csv' }")
    assert done.returncode == 1
    assert "must be after the start of the first workload, 600us, got 500us" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_sweep_says_which_points_measured_nothing_and_does_not_run_them_again(
    shell: Shell, big: Path, tmp_path: Path
) -> None:
    big.write_text(BIG + ENDS)
    first = shell("sweep", big, "--json", "--out", "both")
    assert first.returncode == 3, first.stderr
    said = f"problem: at 500us: {NOTHING}"
    assert said in first.stderr
    assert "1 of 2 points measured nothing" in first.stderr
    empty, whole = json.loads(first.stdout)["points"]
    assert empty["summary"]["problems"][0]["code"] == "nothing-measured"
    assert whole["summary"]["problems"] == []
    again = shell("sweep", big, "--json", "--out", "both")
    assert again.returncode == 3
    assert said in again.stderr
    assert [point["status"] for point in json.loads(again.stdout)["points"]] in (
        ["reused", "reused"],
        ["done", "done"],  # a build with local changes reuses nothing
    )
    page = (tmp_path / "both" / "report.html").read_text()
    assert "1 of 2 points measured nothing: at 500us" in page
    assert repr(sh.sweep(big, out=tmp_path / "both")).endswith("2 runs, 0 failed, 1 measured nothing)")
