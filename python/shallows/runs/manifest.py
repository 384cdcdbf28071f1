"""Completeness of a run's folder: `manifest.json`, written last, lists its files with sizes and hashes.

It lists all result files, but neither the page that `shallows report` writes nor files that users add.
"""

import hashlib
import json
import re
import shlex
import stat
from pathlib import Path
from typing import Any

from shallows.bounded import parse_json, read_text
from shallows.errors import ShallowsError
from shallows.runs.formats import READABLE

MANIFEST = "manifest.json"

PAGE = "report.html"
"""Page of a run. Manifests do not list it, because `shallows report` can write it again."""

DOCUMENTS = {MANIFEST, "env.json", "resolved.json", "scenario.toml", "summary.json"}
"""Files that every run has, apart from its tables and captures."""


def write_manifest(folder: Path, content_hash: str) -> None:
    """Write the manifest of a run whose other files are complete."""
    files = {
        path.name: {"bytes": path.stat().st_size, "blake2b": _hash(path)}
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }
    document = {"hash": content_hash, "files": files}
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def finished_hash(folder: Path) -> str | None:
    """Return the content hash of the finished run in this folder; None if it is missing or damaged."""
    environment, manifest = _read(folder / "env.json"), _read(folder / MANIFEST)
    return None if _damage(folder, environment, manifest) else str(manifest["hash"])


def holds(folder: Path, content_hash: str, *, verify: bool = False) -> bool:
    """Return whether this folder has the finished run of this hash, in a format that this version reads.

    `verify` also compares the hashes of all its files.
    """
    return finished_hash(folder) == content_hash and not (verify and unfit(folder, verify=True))


def files_of(folder: Path) -> set[str]:
    """Return the names of the files in this folder's manifest; empty if it cannot be read."""
    return set(_files(_read(folder / MANIFEST)))


def others_in(folder: Path, successor: Path) -> list[Path]:
    """List the files that users added to a run's folder; they stay if the run `successor` replaces it.

    A file counts as added if neither run's manifest lists it. If the old manifest is unreadable and the
    successor is a different run, files that look like results are left out.
    """
    before, after = files_of(folder), files_of(successor)
    is_told = before or is_run_of(folder, str(_read(successor / MANIFEST).get("hash")))
    others = [path for path in folder.iterdir() if path.name not in {MANIFEST, PAGE, *before, *after}]
    return others if is_told else [path for path in others if not _looks_ours(path)]


def stamp(folder: Path) -> object:
    """Return a value that changes when another run replaces this folder; None if it holds no run."""
    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def unfit(folder: Path, *, verify: bool = False) -> ShallowsError | None:
    """Return the error for a run that cannot be read, because another version wrote it or it is damaged.

    The result is None if the run can be read, or if there is no run. `verify` also compares file hashes.
    """
    if not is_run(folder):
        return None
    environment, manifest = _read(folder / "env.json"), _read(folder / MANIFEST)
    # The oldest folders have no key `format`.
    if environment and environment.get("format", 0) not in READABLE:
        return ShallowsError(
            f"{folder} was written by another version of Shallows, {environment.get('version', 'unknown')}",
            f"{_again(folder, environment)}, or read the folder with that version",
        )
    problem = _damage(folder, environment, manifest)
    if problem:
        return ShallowsError(f"{folder} is damaged: {problem}", _again(folder, environment))
    if verify and (problem := _difference(folder, manifest)):
        return ShallowsError(f"{folder} is damaged: {problem}", _again(folder, environment, "--verify"))
    return None


def check(folder: Path, *, verify: bool = False) -> None:
    """Raise an error if a folder holds no finished run, or the run cannot be read."""
    if problem := unfit(folder, verify=verify):
        raise problem
    if finished_hash(folder) is None:
        raise ShallowsError(
            f"{folder} contains no finished run",
            "name a folder that `shallows run` or `shallows sweep` wrote",
        )


def check_file(folder: Path, name: str) -> None:
    """Raise an error if the hash of a run's file differs from the manifest."""
    known = _files(_read(folder / MANIFEST)).get(name)
    problem = (
        _altered(folder / name, known) if known else f"{name} cannot be read: {MANIFEST} does not list it"
    )
    if problem:
        raise ShallowsError(
            f"{folder} is damaged: {problem}", _again(folder, _read(folder / "env.json"), "--verify")
        )


def is_run(folder: Path) -> bool:
    """Return whether this folder holds a run of Shallows, complete or not, of any version."""
    manifest, environment = _read(folder / MANIFEST), _read(folder / "env.json")
    if isinstance(environment.get("hash"), str) or manifest.keys() >= {"hash", "files"}:
        return True
    # The folder's name contains part of the run's hash, but its files may have been replaced by a user's
    # files.
    if not re.search(r"-[0-9a-f]{12}-s[0-9]+\Z", folder.name):
        return False
    try:
        inside = list(folder.iterdir())
    except OSError:
        return False
    return not inside or any(map(_looks_ours, inside))


def is_run_of(folder: Path, content_hash: str) -> bool:
    """Return whether this folder holds the run of this hash, complete or not."""
    if any(_read(folder / name).get("hash") == content_hash for name in (MANIFEST, "env.json")):
        return True
    return is_run(folder) and f"-{content_hash[:12]}-s" in folder.name


def _looks_ours(path: Path) -> bool:
    return path.name in DOCUMENTS or path.suffix in {".parquet", ".pcapng"}


def _files(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the entries of a manifest by file name; empty if the manifest is invalid."""
    files = manifest.get("files")
    if not (isinstance(manifest.get("hash"), str) and isinstance(files, dict) and "env.json" in files):
        return {}
    for name, known in files.items():
        is_known = isinstance(known, dict) and type(known.get("bytes")) is int and "blake2b" in known
        if not (is_known and Path(name).name == name):
            return {}
    return files


def _damage(folder: Path, environment: dict[str, Any], manifest: dict[str, Any]) -> str:
    """Describe damage of a run: wrong sizes of files, or unreadable documents; empty if there is none."""
    if not (folder / MANIFEST).exists():
        return f"{MANIFEST} is missing"
    files = _files(manifest)
    if not files:
        return f"{MANIFEST} cannot be read"
    for name, known in files.items():
        try:
            found = (folder / name).stat()
        except (OSError, ValueError):  # a name with a NUL is a ValueError
            return f"{name} is missing"
        if not stat.S_ISREG(found.st_mode):
            return f"{name} must be a regular file"
        if found.st_size != known["bytes"]:
            return f"{name} must have {known['bytes']:,} bytes, got {found.st_size:,}"
    return "" if environment.get("format") in READABLE else "env.json cannot be read"


def _difference(folder: Path, manifest: dict[str, Any]) -> str:
    problems = (_altered(folder / name, known) for name, known in manifest["files"].items())
    return next(filter(None, problems), "")


def _altered(path: Path, known: dict[str, Any]) -> str:
    """Describe how a file differs from its entry in the manifest; empty if it does not."""
    try:
        same = path.is_file() and _hash(path) == known["blake2b"]
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror or error}"
    return "" if same else f"the contents of {path.name} differ from the hash in {MANIFEST}"


def _hash(path: Path) -> str:
    """Return the BLAKE2b hash of a file, as `b2sum -l 256` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _again(folder: Path, environment: dict[str, Any], *options: str) -> str:
    """Return the command that repeats a run that is damaged or was written by another version.

    For a point of a sweep, the command repeats the sweep with `options`, such as `--verify`, which makes the
    sweep detect the damage. For a single run, it has `--force`, which lets it replace a run of another hash.
    """
    try:
        if environment["labels"]:
            command = ["shallows", "sweep", environment["file"], "--out", str(folder.parent), *options]
            return f"run it again with `{shlex.join(command)}`, and the --set options of the first sweep"
        testbed = ["testbed"] if environment.get("testbed") else []
        command = ["shallows", *testbed, "run", environment["file"]]
        command += ["--dilate", str(environment["dilation"])] if environment.get("dilation", 1) > 1 else []
        for override in environment["overrides"]:
            command += ["--set", override]
        command += ["--seed", str(environment["seed"]), "--out", str(folder), "--force"]
        return f"run it again with `{shlex.join(command)}`"
    except (LookupError, TypeError):
        return "run its scenario again"


def _read(path: Path) -> dict[str, Any]:
    """Read a JSON object; return an empty dictionary if it is missing or cannot be read."""
    try:
        document = parse_json(read_text(path, remedy=""))
    except (ShallowsError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
