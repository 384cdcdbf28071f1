"""Reads the files of claims that a reproduction writes, and checks a folder for consistency."""

from pathlib import Path
from typing import Any

from shallows.bounded import parse_json, read_text
from shallows.errors import ShallowsError

CLAIMS = "claims*.json"
"""Files of claims: of the whole paper, and of single figures."""

NEEDED = {"paper", "quick", "claims", "drawings", "figures", "command", "build"}


def check_same(folder: Path, paper: str, *, quick: bool) -> None:
    """Reject a folder with claims of another paper, or with both quick and full runs.

    Raises
    ------
    ShallowsError
        If the folder has such claims, or its files of claims cannot be read.
    """
    if any((each["paper"], each["quick"]) != (paper, quick) for each in read_documents(folder)):
        raise mixed(folder)


def mixed(folder: Path) -> ShallowsError:
    """Return the error for a folder with claims of several papers, or of both quick and full runs."""
    return ShallowsError(
        f"{folder} must have claims of only one paper, and of either quick or full runs",
        "write each reproduction to its own folder with --out DIR",
    )


def read_documents(folder: Path) -> list[dict[str, Any]]:
    """Return the documents of claims in a folder, for the whole paper or single figures, the newest last.

    Raises
    ------
    ShallowsError
        If a file of claims cannot be read.
    """
    return [_read(path) for path in sorted(folder.glob(CLAIMS), key=lambda path: path.stat().st_mtime)]


def _read(path: Path) -> dict[str, Any]:
    remedy = "repeat the `shallows reproduce` command; finished runs are kept"
    try:
        document = parse_json(read_text(path, remedy=remedy))
        # Files without numbers of seeds are from an earlier version, whose bars have another meaning.
        if (
            isinstance(document, dict)
            and document.keys() >= NEEDED
            and all("seeds" in each for each in (*document["drawings"].values(), *document["claims"]))
        ):
            return document
        reason = "another version wrote it"
    except ValueError as error:
        reason = str(error)
    raise ShallowsError(f"{path} cannot be read: {reason}", remedy)
