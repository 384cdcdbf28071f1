"""Tests that run every command in the documentation, page by page, each page in a folder of its own.

A comment before a block gives exceptions, with the reason: `<!-- not run: … -->`, or
`<!-- run with --OPTION …: … -->`, which adds options to commands that take a scenario. The site shows both.
`<!-- output -->` before a block means that the commands before it print each of its lines.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from not_run import needs
from pages import COMMAND_LANGUAGES, DATA_LANGUAGES, PAGES, ROOT, Block, blocks
from shallows.cli.parser import parse
from shared import SHALLOWS

# test_extend.py does what docs/extend.md says, with a copy of the sources.
ELSEWHERE = "docs/extend.md"
COMMANDS = [block for page in PAGES if page != ELSEWHERE for block in blocks(page) if block.is_command]
LEFT_OUT = [block for block in COMMANDS if block.not_run]
RUN = {page: [block for block in COMMANDS if block.page == page and not block.not_run] for page in PAGES}

WRAPPER = f"""#!/bin/sh
case "$1" in
    run | plan | sweep | merge) exec {shlex.quote(SHALLOWS)} "$@" $SHALLOWS_DOCS_OPTIONS ;;
    *) exec {shlex.quote(SHALLOWS)} "$@" ;;
esac
"""


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """A folder with the repository's experiments, and with the command line on the path."""
    (tmp_path / "bin").mkdir()
    for name, text in {
        "shallows": WRAPPER,
        "python": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n',
    }.items():
        program = tmp_path / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    folder = tmp_path / "reader"
    shutil.copytree(ROOT / "experiments", folder / "experiments")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    return folder


@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found])
def test_the_commands_of_a_page_run(page: str, reader: Path) -> None:
    printed = ""
    for block in blocks(page):
        if block.title and not block.is_command and block.language != "rust":
            (reader / block.title).write_text(block.text)
        elif block.is_command and not block.not_run:
            printed = run(block, reader)
        elif block.is_output:
            lines = [" ".join(line.split()) for line in block.text.splitlines()]
            assert [line for line in lines if line not in printed] == [], (
                f"{block} is not printed:\n{printed}"
            )


def run(block: Block, folder: Path) -> str:
    """Run a block, and return its output without line breaks, which depend on the terminal's width."""
    environment = {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "SHALLOWS_DOCS_OPTIONS": block.options,
        "MPLBACKEND": "agg",
    }
    program = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euo", "pipefail", "-c"]
    done = subprocess.run(
        [*program, block.script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,  # against what hangs; how long it takes is up to the machine
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{block.text}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("block", LEFT_OUT, ids=str)
def test_commands_that_are_not_run_are_understood(block: Block) -> None:
    for command in block.commands:
        assert parse(shlex.split(command)[1:]).command
    pytest.skip(
        needs("what its page names", "grep -rn 'not run:' README.md CONTRIBUTING.md docs experiments")
    )


def test_few_commands_are_not_run() -> None:
    assert len(LEFT_OUT) <= 18
    assert all(len(block.not_run or "") > 10 for block in LEFT_OUT)


def test_every_block_says_what_it_is() -> None:
    nameless = [
        str(block)
        for page in PAGES
        for block in blocks(page)
        if block.language not in (*COMMAND_LANGUAGES, *DATA_LANGUAGES)
    ]
    assert not nameless
