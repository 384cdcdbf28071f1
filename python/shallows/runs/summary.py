"""Summary of a run: a read-only mapping with typed attributes for the keys that every run has."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from shallows.bounded import quoted
from shallows.errors import ShallowsError, listed

DAMAGED = "the folder is damaged: run its scenario again"


class MissingKeyError(ShallowsError, KeyError):
    """Error for a key that a document of a run lacks."""


def missing(path: Path, place: str, key: object, known: Mapping[str, Any]) -> MissingKeyError:
    """Return the error for a missing key, with the names nearest to it.

    >>> print(missing(Path("summary.json"), "fct_us.all", "p98", {"mean": 1, "p95": 2, "p99": 3}))
    summary.json has no "fct_us.all.p98"
      the nearest keys are: p99, p95
    >>> missing(Path("summary.json"), "", "flows.completed", {"flows": {}}).remedy
    'keys are nested: ["flows"]["completed"]'
    """
    from difflib import get_close_matches

    text = str(key)
    words = text.split(".")
    if len(words) > 1 and words[0] in known:
        remedy = "keys are nested: " + "".join(f'["{word}"]' for word in words)
    elif near := get_close_matches(text, list(known)):
        remedy = listed("the nearest keys are", near)
    else:
        remedy = listed("the keys are", sorted(known)) if known else DAMAGED
    return MissingKeyError(f"{path} has no {quoted('.'.join(filter(None, [place, text])))}", remedy)


class Section(Mapping[str, Any]):
    """An object of a summary, read-only.

    Objects inside it are sections too; lists, numbers and text are as in the file.

    Parameters
    ----------
    path
        The file, for messages.
    found
        The contents of the object.
    place
        Dotted name of the object in the file; empty for the whole document.
    """

    def __init__(self, path: Path, found: Mapping[str, Any], place: str = "") -> None:
        self._path = path
        self._found = dict(found)
        self._place = place

    def __getitem__(self, key: str) -> Any:
        try:
            value = self._found[key]
        except KeyError:
            raise missing(self._path, self._place, key, self._found) from None
        if isinstance(value, dict):
            return Section(self._path, value, ".".join(filter(None, [self._place, key])))
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return repr(self._found)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return self.document() | dict(other)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._found)

    def document(self) -> dict[str, Any]:
        """Return a copy as dictionaries and lists, for `json.dumps`."""
        return deepcopy(self._found)


class Summary(Section):
    """The results of a run in numbers, read from `summary.json`.

    Keys that every run has are also attributes. A missing key raises a `ShallowsError`, which is also a
    `KeyError` and lists the nearest keys; `get` returns a default instead. docs/results.md lists all keys.

    Examples
    --------
    >>> import shallows as sh
    >>> summary = sh.run(sh.example("incast"), out=folder / "run").summary
    >>> summary["flows"]["completed"], summary.flows["completed"], summary.timeouts
    (800, 800, 0)
    >>> print(f"{summary.fct_us['all']['p99']:.0f} µs at {summary.goodput_gbps:.1f} Gb/s")
    710 µs at 92.4 Gb/s
    """

    def __getitem__(self, key: str) -> Any:
        if key not in self._found and isinstance(getattr(Summary, str(key), None), property):
            raise MissingKeyError(f"{self._path} has no {quoted(key)}", DAMAGED)
        return super().__getitem__(key)

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self["name"])

    @property
    def seed(self) -> int:
        """Root of all random streams."""
        return int(self["seed"])

    @property
    def simulated_s(self) -> float:
        """Length of the run, in seconds of network time."""
        return float(self["simulated_s"])

    @property
    def flows(self) -> Section:
        """Numbers of flows that arrived after the warm-up: `started`, `completed` and `unbounded`."""
        return self._section("flows")

    @property
    def fct_us(self) -> Section:
        """Completion times in µs by size bin (such as `all`): `count`, `mean`, `p50`, `p95`, `p99`, `max`."""
        return self._section("fct_us")

    @property
    def slowdown(self) -> Section:
        """Slowdowns by size bin, with the statistics of `fct_us`."""
        return self._section("slowdown")

    @property
    def goodput_gbps(self) -> float:
        """Application bytes received in order per simulated second, in Gb/s."""
        return float(self["goodput_gbps"])

    @property
    def loss_rate(self) -> float:
        """Share of sent packets that NICs and switches dropped."""
        return float(self["loss_rate"])

    @property
    def loss_rate_in_switches(self) -> float:
        """Share of sent packets that switches dropped."""
        return float(self["loss_rate_in_switches"])

    @property
    def timeouts(self) -> int:
        """Number of retransmission timeouts of all flows, warm-up included."""
        return int(self["timeouts"])

    @property
    def retransmits(self) -> int:
        """Number of retransmitted segments of all flows, warm-up included."""
        return int(self["retransmits"])

    @property
    def packets(self) -> Section:
        """Numbers of packets: `sent`, `data`, `marked`, `dropped`, and drops in NICs and in switches."""
        return self._section("packets")

    @property
    def engine(self) -> Section:
        """Cost of the run: `packet_hops`, `wall_s`, `packet_hops_per_s`, `peak_rss_mb`."""
        return self._section("engine")

    @property
    def warnings(self) -> list[str]:
        """Warnings about numbers that are easily misread."""
        return list(self["warnings"])

    @property
    def notes(self) -> list[str]:
        """Values that were computed from the scenario, with their formulas."""
        return list(self["notes"])

    def _section(self, key: str) -> Section:
        found: Section = self[key]
        return found
