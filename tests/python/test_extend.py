"""Tests of the worked example in docs/extend.md: its blocks are applied to a copy of the sources and run.

The copy is in target/, and its build is kept, so that only the first run takes long. Files and differences
are taken from the page. `cargo` and `make build` run as on the page, except that our own crates are not
optimised.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from not_run import needs
from pages import ROOT, blocks

PAGE = "docs/extend.md"
COPY = ROOT / "target" / "extend"
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "python/shallows")
OURS = ("core", "switch", "transport", "scenario", "measure", "sim", "python")

pytestmark = pytest.mark.skipif(
    shutil.which("cargo") is None or shutil.which("git") is None,
    reason=needs("Rust and git", "rustup.rs; apt-get install git"),
)


def test_the_page_makes_a_marker_and_a_congestion_control_that_work(tmp_path: Path) -> None:
    extended = patched(tmp_path / "sources")
    update(COPY, extended)
    reader = tmp_path / "reader"
    reader.mkdir()
    environment = {**os.environ, **programs(tmp_path / "bin")}
    for block in blocks(PAGE):
        if block.language == "toml" and block.title:
            (reader / block.title).write_text(block.text, encoding="utf-8")
        elif block.is_command:
            folder = COPY if "cargo" in block.text else reader
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.script],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=1800,
                check=False,
            )
            assert done.returncode == 0, (
                f"{block}\n{block.text}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
            )
            if "cargo test" in block.text:
                # One of the ramp, two of the congestion control.
                assert done.stdout.count("... ok") == 3, done.stdout
    once = sh.Run(reader / "runs/ramp-once")
    assert once.summary["markers"]["ramp"]["marked"] > 0
    [curve] = [curve for curve in once.summary["marking_curves"] if curve["port"] == "to-host"]
    # 10 Gbit/s carry 25 KB in 20 us, and 75 KB in 60 us.
    assert (curve["kmin"]["bytes"], curve["kmax"]["bytes"]) == (25_000, 75_000)
    # An eighth less is above half: windows of the same flows under the same marks stay larger.
    assert marked(reader / "runs/ramp", "Scalable, ramp") > marked(reader / "runs/ramp", "Reno, ramp") > 0


def marked(sweep: Path, scheme: str) -> int:
    """Return the number of packets marked in all runs of a scheme."""
    runs = [sh.Run(folder) for folder in sweep.iterdir() if folder.is_dir()]
    tables = [run.counters for run in runs if run.labels["scheme"] == scheme]
    return int(pl.concat(tables)["marked"].sum())


def patched(folder: Path) -> Path:
    """Return a copy of the sources, with the page's blocks applied."""
    for name in SOURCES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "_core*", "target"))
        else:
            shutil.copy(source, target)
    shutil.copy(ROOT / "python/shallows/_core.pyi", folder / "python/shallows/_core.pyi")
    for block in blocks(PAGE):
        if block.language == "rust":
            assert block.title, f"{block} does not say which file it is"
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "diff":
            # The checkout's own repository is none of its business.
            environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
            done = subprocess.run(
                ["git", "apply", "--verbose", "-"],
                input=block.text,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block} does not fit the sources\n{done.stderr}"
    return folder


def update(folder: Path, sources: Path) -> None:
    """Make `folder` equal to `sources`, but leave equal files and build outputs unchanged."""
    wanted = {path.relative_to(sources) for path in sources.rglob("*") if path.is_file()}
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder) not in wanted and not path.name.startswith("_core"):
            path.unlink()
    for name in wanted:
        target, contents = folder / name, (sources / name).read_bytes()
        if not target.exists() or target.read_bytes() != contents:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)


def programs(folder: Path) -> dict[str, str]:
    """Write programs `cargo`, `make` and `shallows` that use the copy; return the environment to run them."""
    folder.mkdir()
    plain = " ".join(f"--config profile.dev.package.shallows-{name}.opt-level=0" for name in OURS)
    texts = {
        "cargo": f'first=$1; shift; exec {shutil.which("cargo")} "$first" --locked {plain} "$@"',
        "make": """
            [ "$1" = build ]
            PYO3_BUILD_EXTENSION_MODULE=1 cargo build -p shallows-python
            cp "$CARGO_TARGET_DIR/debug/lib_core.so" python/shallows/_core.abi3.so""",
        "shallows": f'PYTHONPATH={COPY}/python exec {shlex.quote(sys.executable)} -m shallows "$@"',
    }
    for name, text in texts.items():
        program = folder / name
        program.write_text(f"#!/bin/sh -e\n{text}\n", encoding="utf-8")
        program.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "PYO3_PYTHON": sys.executable,
    }
