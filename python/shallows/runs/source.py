"""A scenario as its file gives it, with what was asked to be different: what a run is made from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.bounded import is_file, read_text
from shallows.errors import ShallowsError
from shallows.runs.toml_text import called


@dataclass(frozen=True)
class Source:
    """A scenario as its file gives it, and what was asked to be different."""

    file: str
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    """What distinguishes this run within a sweep: its scheme and its place on each axis."""
    dilation: int | None = None
    """With real TCP, its time dilated so many times; nothing for a simulation."""

    @classmethod
    def read(
        cls, path: str | Path, overrides: tuple[tuple[str, str], ...] = (), seed: int | None = None
    ) -> "Source":
        """Read a scenario file."""
        if not isinstance(path, str | Path):
            raise ShallowsError(
                f"a scenario is read from a file, and {called(path)} is no path",
                "name its file; `Scenario.from_dict` takes a dictionary, and a `Scenario` has its own `run`",
            )
        remedy = "name a scenario file, TOML in UTF-8, or try `shallows demo` first"
        parts = Path(path).parts
        if parts[:1] == ("experiments",) and is_file(Path(__file__).parents[1].joinpath(*parts)):
            name = "/".join(parts[1:]).removesuffix(".toml")
            remedy = f"`shallows examples {name}` copies it into this folder"
        return cls(str(path), read_text(path, remedy=remedy), overrides, seed)

    def parse(self, base: Path | None = None) -> _core.Experiment:
        """Parse and check it; files that it names are looked for in `base`, by default its own folder."""
        base = base or Path(self.file).resolve().parent
        return _core.parse(self.text, self.file, str(base), list(self.overrides), self.seed)
