"""Readers of vendors' files, one module per format; they build the vendor-neutral model.

A reader's module has two functions:

- `recognises(text, name)` returns whether a file has the module's format; it is fast and raises no errors.
- `read(text, name)` returns the `Switch` in the file, or raises a `ShallowsError` with file and place.

To add a reader, add its format to `FORMATS`, and its module to `reader`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows.advisor.configuration import Switch
from shallows.bounded import is_folder, read_text
from shallows.collector import paused
from shallows.errors import ShallowsError, listed

FORMATS = ("sonic", "nvue", "junos", "nxos", "eos", "avd", "tc")
"""Names of the modules, in the order in which they are tried."""

LARGEST_CONFIGURATION = 1 << 26
"""Largest file in bytes: a hundred times the configuration of a switch with a thousand ports."""

MOST_FILES = 64
"""Maximum number of files of one switch."""

REMEDY = "name a switch's configuration, or a folder of its files; docs/advisor.md lists the formats"


@dataclass(frozen=True)
class Reader:
    """Interface of a reader's module."""

    recognises: Callable[[str, str], bool]
    """Returns whether a file with this text and name has this format."""
    read: Callable[[str, str], Switch]
    """Builds the switch that a file with this text and name describes."""


def reader(name: str) -> Reader:
    """Return the reader of a format."""
    from shallows.advisor.readers import avd, eos, junos, nvue, nxos, sonic, tc

    modules = {"sonic": sonic, "nvue": nvue, "junos": junos, "nxos": nxos, "eos": eos, "avd": avd, "tc": tc}
    module = modules[name]
    return Reader(module.recognises, paused()(module.read))


def read(paths: str | Path | Sequence[str | Path]) -> Switch:
    """Read the switch that a file, several files, or a folder describe.

    Raises
    ------
    ShallowsError
        If a file cannot be read, has an unknown format, or belongs to another switch.
    """
    documents = texts(paths)
    formats = {name: format_of(text, name) for name, text in documents}
    if len(set(formats.values())) > 1:
        kinds = [f"{name} is {kind}" for name, kind in formats.items()]
        raise ShallowsError(
            "all files must have the same format",
            listed("name the files of one switch; the formats are", kinds),
        )
    format_ = formats[documents[0][0]]
    if len(documents) == 1:
        name, text = documents[0]
        return reader(format_).read(text, name)
    if format_ == "sonic":
        from shallows.advisor.readers import sonic

        return paused()(sonic.read_together)(documents)
    raise ShallowsError(
        f"only one file of this format is allowed, got {len(documents)}",
        "name one file; a file of this format describes a whole switch",
    )


def texts(paths: str | Path | Sequence[str | Path]) -> list[tuple[str, str]]:
    """Return the names and contents of a file, several files, or a folder's files.

    Raises
    ------
    ShallowsError
        If a file cannot be read.
    """
    return [(str(path), _text(path)) for path in _files(paths)]


def format_of(text: str, name: str) -> str:
    """Return the format of a file.

    Raises
    ------
    ShallowsError
        If no reader recognises the file.
    """
    for format_ in FORMATS:
        if reader(format_).recognises(text, name):
            return format_
    raise ShallowsError(f"the format of {name} is unknown", REMEDY)


def _files(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        found += _inside(path) if is_folder(path) else [path]
    if not found:
        raise ShallowsError("at least one file is needed, got none", REMEDY)
    if len(found) > MOST_FILES:
        raise ShallowsError(
            f"at most {MOST_FILES} files are allowed, got {len(found)}", "pass only the files of one switch"
        )
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        found = sorted(entry for entry in folder.iterdir() if entry.name[0] != "." and entry.is_file())
    except OSError as error:
        raise ShallowsError(f"{folder} cannot be read: {error.strerror or error}", REMEDY) from None
    if not found:
        raise ShallowsError(f"{folder} contains no file", REMEDY)
    return found


def _text(path: Path) -> str:
    return read_text(path, remedy=REMEDY, most=LARGEST_CONFIGURATION)
