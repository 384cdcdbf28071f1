"""Source of a run: the text of a scenario file, with overrides and a seed."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from shallows import _core
from shallows.bounded import is_file, read_text
from shallows.errors import ShallowsError
from shallows.runs.toml_text import called


@dataclass(frozen=True)
class Source:
    """The text of a scenario file, with the changes that were requested."""

    file: str
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    """Place of this run in its sweep: its scheme and its value on each axis."""
    dilation: int | None = None
    """Time dilation factor of a testbed run; None for a simulation."""
    base: Path | None = None
    """Folder for relative paths in the scenario; the scenario file's own folder by default."""

    @classmethod
    def read(
        cls, path: str | Path, overrides: tuple[tuple[str, str], ...] = (), seed: int | None = None
    ) -> "Source":
        """Read a scenario file."""
        if not isinstance(path, str | Path):
            raise ShallowsError(
                f"the path of a scenario must be a string or a Path, got {called(path)}",
                "pass the path of the file; for a dictionary, use `Scenario.from_dict(…).run()`",
            )
        remedy = "name a scenario file, TOML in UTF-8, or try `shallows demo` first"
        parts = Path(path).parts
        if parts[:1] == ("experiments",) and is_file(Path(__file__).parents[1].joinpath(*parts)):
            name = "/".join(parts[1:]).removesuffix(".toml")
            remedy = f"`shallows examples {name}` copies this scenario into the current folder"
        return cls(str(path), read_text(path, remedy=remedy), overrides, seed)

    def parse(self, base: Path | None = None) -> _core.Experiment:
        """Parse and check the scenario; `base` replaces the folder for relative paths."""
        return _core.parse(self.text, self.file, str(base or self.folder), list(self.overrides), self.seed)

    @property
    def source(self) -> "Source":
        """The object itself, so that functions that read a scenario's `source` accept a `Source` too."""
        return self

    @property
    def folder(self) -> Path:
        """Folder for relative paths in the scenario."""
        return self.base or Path(self.file).resolve().parent


@runtime_checkable
class HasSource(Protocol):
    """Type of a `Scenario`, for modules that cannot import the class."""

    @property
    def source(self) -> Source:
        """Text of the scenario, with its overrides and seed."""
        ...


ScenarioLike = str | Path | HasSource
"""The path of a scenario file, or a `Scenario`."""


def source_of(
    scenario: ScenarioLike, overrides: tuple[tuple[str, str], ...] = (), seed: int | None = None
) -> Source:
    """Return the source of a scenario file or a `Scenario`, with further overrides and another seed.

    Raises
    ------
    ShallowsError
        If `scenario` is neither a path nor a `Scenario`, or the file cannot be read.
    """
    if not isinstance(scenario, HasSource):
        return Source.read(scenario, overrides, seed)
    source = scenario.source
    changed = replace(source, overrides=(*source.overrides, *overrides))
    return changed if seed is None else replace(changed, seed=seed)
