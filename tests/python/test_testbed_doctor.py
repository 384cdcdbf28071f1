"""What `shallows testbed doctor` says of this machine. Without root or the program it is not run."""

import re

import pytest

from shallows.cli import main
from shared import needs_testbed


@needs_testbed
def test_the_doctor_says_what_one_port_carries(capsys: pytest.CaptureFixture[str]) -> None:
    main(["testbed", "doctor"])
    lines = {line.split()[1]: line for line in capsys.readouterr().out.splitlines()}
    assert {"program", "ip", "tc", "rights", "kernel", "trial", "reach"} == set(lines)
    assert re.search(r"[\d.]+ Mb/s of 100; .* at worst", lines["trial"])
    # More than the trial's link, so not that of the trial; less than the link's own.
    reach = re.search(r"ok +reach +([\d.]+) Gb/s", lines["reach"])
    assert reach
    assert 0.1 < float(reach[1]) < 10


def test_without_its_program_the_doctor_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["testbed", "doctor"]) == 1
    said = capsys.readouterr().out
    assert re.search("missing +program .*make testbed", said)
    assert "reach" not in said
