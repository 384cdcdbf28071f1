"""Tests of `shallows testbed doctor` on this machine; skipped without root or the program."""

import re
import shutil
from pathlib import Path

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


@pytest.mark.parametrize(("kernel", "verdict"), [("true", "ok"), ("false", "missing")])
def test_the_doctor_asks_the_kernel_whether_users_have_namespaces(
    kernel: str,
    verdict: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Test with an `unshare` that works and with one that fails; no trial follows without the program."""
    (tmp_path / "unshare").symlink_to(shutil.which(kernel) or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr("os.geteuid", lambda: 65_534)
    assert main(["testbed", "doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if " rights " in line]
    assert line.startswith(verdict)
    assert ("without root" in line) is (kernel == "true")
    assert ("run it with sudo" in line) is (kernel == "false")
