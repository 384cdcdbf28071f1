"""Examples in the package: demos, a gallery, fabrics, models and papers, each with a title from its file."""

import re
from dataclasses import dataclass
from pathlib import Path

from shallows.bounded import parse_toml, read_text
from shallows.errors import ShallowsError, did_you_mean

FOLDER = (Path(__file__).parent / "experiments").resolve()
"""Folder of all examples; in a checkout, a link to the repository's `experiments`."""

FIRST = ("demo", "gallery", "advisor", "models")
"""Groups of examples that are listed first, in this order."""

WITHOUT_COMMENTS = {
    "advisor/roce-400g.json": "SONiC configuration of a 400 Gb/s leaf with lossless classes, for `explain`."
}
"""Titles of the examples whose file format has no comments to read the title from."""

REMEDY = "install the package again"


@dataclass(frozen=True)
class Example:
    """An example file in the package, as input of a command."""

    name: str
    """Group and name, such as `gallery/load`."""
    path: Path

    @property
    def group(self) -> str:
        """Return the name of the example's folder."""
        return self.name.partition("/")[0]

    @property
    def title(self) -> str:
        """Return the first sentence of the comment at the top of the file."""
        if known := WITHOUT_COMMENTS.get(f"{self.group}/{self.path.name}"):
            return known
        comment = re.match(r"(?:#.*\n)*", read_text(self.path, remedy=REMEDY))
        lines = [line.lstrip("# ") for line in comment[0].splitlines()] if comment else []
        return re.split(r"(?<=[.?])\s+(?=[\"A-Z]|\w+/)", " ".join(lines), maxsplit=1)[0]

    @property
    def files(self) -> list[Path]:
        """Return the example's file, and the files that it refers to, such as distributions of flow sizes."""
        if self.path.suffix != ".toml":
            return [self.path]
        document = parse_toml(read_text(self.path, remedy=REMEDY))
        named = [
            self.path.parent / text for text in dict.fromkeys(_texts(document)) if re.search(r"\.\w+$", text)
        ]
        return [self.path, *(file for file in named if file.is_file())]


def examples() -> list[Example]:
    """Return all examples, ordered by group.

    >>> examples()[0].name
    'demo/bcc-f2'
    """
    paths = [*FOLDER.glob("*/*.toml"), *(FOLDER / name for name in WITHOUT_COMMENTS)]
    found = [
        Example(f"{path.parent.name}/{path.stem}", path) for path in paths if path.name != "expected.toml"
    ]
    places = {group: place for place, group in enumerate(FIRST)}
    return sorted(found, key=lambda each: (places.get(each.group, len(FIRST)), each.name))


def find(name: str) -> Example:
    """Return the example with this name.

    Raises
    ------
    ShallowsError
        If there is no such example.
    """
    known = {each.name: each for each in examples()}
    if name not in known:
        near = did_you_mean(name, known)
        raise ShallowsError(
            f"unknown example {name!r}" + (f"; {near}" if near else ""), "`shallows examples` lists the names"
        )
    return known[name]


def copy(example: Example, folder: Path) -> list[Path]:
    """Copy an example into a folder, with the files that it names.

    Raises
    ------
    ShallowsError
        If one of these files already exists (then none is written), or a file cannot be written.
    """
    copies = {file: folder / file.name for file in example.files}
    for target in copies.values():
        if target.exists() or target.is_symlink():
            raise ShallowsError(
                f"{target} exists already, and is not overwritten", "rename the file, or use another folder"
            )
    for file, target in copies.items():
        try:
            target.write_bytes(file.read_bytes())
        except OSError as error:
            raise ShallowsError(
                f"{target} cannot be written: {error.strerror}",
                "run the command in a folder that you can write to",
            ) from None
    return [*copies.values()]


def _texts(value: object) -> list[str]:
    """Return all strings in a TOML document."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]
