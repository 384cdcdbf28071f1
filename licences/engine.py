"""Collects the licences of the crates that are linked into the engine; `make licences` writes `engine.txt`.

Cargo lists these crates and the folders of their sources, which contain the licence texts. Notices are
included (Apache License 2.0 §4(d)).
"""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".txt")

TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""Targets of the wheels."""

TERMS = re.compile(r"(licen[cs]e|unlicense|copying|copyright|notice)([-._].*)?", re.IGNORECASE)
"""Names of files with the terms of a crate's licence."""

HEAD = """\
The engine of Shallows, shallows/_core.abi3.so, has these Rust crates in it, whose terms follow, and Rust's
standard library, Copyright (c) The Rust Project Contributors, MIT OR Apache-2.0.
"""


def text() -> str:
    """Return a list of all crates, then each distinct licence text with the crates that contain it.

    Raises
    ------
    ValueError
        If a crate contains no licence text, and its licence is not the MIT License.
    """
    users: dict[str, list[str]] = defaultdict(list)
    crates = []
    for name, package in linked().items():
        folder = Path(package["manifest_path"]).parent
        found = sorted(path for path in folder.iterdir() if TERMS.fullmatch(path.name))
        for path in found:
            users[_lines(path)].append(f"{path.name} of {name}")
        crates.append(f"{name}: {package['license']}{'' if found else _without_text(package)}\n")
    texts = [f"==== {', '.join(names)}\n\n{lines}" for lines, names in users.items()]
    return "\n".join([HEAD, "".join(crates), *texts])


def _without_text(package: dict[str, Any]) -> str:
    """Name the authors of a crate without a licence text; the text of the MIT License is always the same."""
    if "MIT" not in package["license"].split():
        raise ValueError(f"{package['name']} has no licence file")
    return f" (by {', '.join(author.partition(' <')[0] for author in package['authors'])}; it brings no text)"


def linked() -> dict[str, dict[str, Any]]:
    """Return the metadata of each linked crate, by name and version; our own are excluded."""
    # Crates that are only used to build others (build scripts, procedural macros) are not linked.
    edges = ["--package", "shallows-python", "--edges", "normal,no-proc-macro"]
    tree = _cargo("tree", "--target", *edges, "--prefix", "none", "--no-dedupe", "--format", "{p}")
    names = {" ".join(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(_cargo("metadata", "--filter-platform", "--format-version", "1"))["packages"]
    return {
        name: package
        for package in sorted(packages, key=lambda package: package["name"])
        if (name := f"{package['name']} v{package['version']}") in names and package["source"]
    }


def _cargo(command: str, platform: str, *options: str) -> str:
    """Return the output of a Cargo command for all targets."""
    targets = [word for target in TARGETS for word in (platform, target)]
    done = subprocess.run(
        ["cargo", command, "--locked", *targets, *options],
        cwd=FILE.parents[1],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _lines(path: Path) -> str:
    """Return a file's text without blanks at line ends and without empty lines at its start and end."""
    lines = (line.rstrip() for line in path.read_text(encoding="utf-8").splitlines())
    return "\n".join(lines).strip("\n") + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
