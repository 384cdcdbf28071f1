"""Scenarios and a command line to try them on."""

import signal
import subprocess
from pathlib import Path

import pytest

from shared import ENDLESS, MANY, SHALLOWS, SIZES, SMALL, SWEEP, TINY, Shell

# In the background of a script we are told to ignore Ctrl-C, and so would be every program that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario in a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A scenario that runs for minutes, in a file."""
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Eight small points in a file."""
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL + SWEEP)
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Three schemes, six loads and three seeds in a file, with flow sizes from another."""
    (tmp_path / "sizes.cdf").write_text(SIZES)
    path = tmp_path / "scenarios" / "tiny.toml"
    path.parent.mkdir()
    path.write_text(TINY + MANY)
    return path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command line, in a fresh folder."""

    def run(
        *arguments: str | Path, cwd: Path = tmp_path, timeout_s: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [SHALLOWS, *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run
