"""Finished runs, read back from their folders."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import folder_of, parse_json, read_text
from shallows.errors import ShallowsError
from shallows.quantity import digits, percent
from shallows.runs import formats, percentiles, shown
from shallows.runs.manifest import check, check_file
from shallows.runs.summary import DAMAGED, Summary, missing

if TYPE_CHECKING:
    import polars as pl

    from shallows._core import Columns
    from shallows.runs.steps import Series


SUMMARY: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "seed": int,
    "simulated_s": (int, float),
    "flows": Mapping,
    "fct_us": Mapping,
    "packets": Mapping,
    "engine": Mapping,
    "marking_curves": list,
    "notes": list,
    "warnings": list,
}
"""Types of the entries of a summary that most readers use."""


SHOWN = {
    "flows": [
        "workload",
        "class",
        "group",
        "to_group",
        "counted",
        "size_bytes",
        "delivered_bytes",
        "fct_us",
        "slowdown",
        "timeouts",
        "retransmits",
    ],
    "counters": [
        "port",
        "kind",
        "queue",
        "rate_bps",
        "received",
        "sent",
        "sent_bytes",
        "marked",
        "dropped",
        "max_backlog_bytes",
    ],
    "queries": ["workload", "counted", "completion_us"],
    "pings": ["class", "rtt_us"],
}
"""Columns, by table, that summaries and reports read."""


class Document(dict[str, Any]):
    """An object in a JSON file of a run. A missing key raises an error that lists the nearest keys."""

    def __init__(self, path: Path, found: Mapping[str, Any]) -> None:
        super().__init__(found)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise missing(self.path, "", key, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Document, (self.path, dict(self))


class Run:
    """A finished run.

    Tables are read on first access.

    Parameters
    ----------
    path
        The run's folder.

    Examples
    --------
    >>> import shallows as sh
    >>> path = sh.run(sh.example("incast"), out=folder / "again").path
    >>> run = sh.Run(path)
    >>> sorted(run.flows.columns)[:3]
    ['arrival_us', 'class', 'counted']
    """

    def __init__(self, path: str | Path) -> None:
        if not isinstance(path, str | Path):
            raise ShallowsError(
                f"a run must be named by a string or a Path, got {path!r}", "pass the folder of a run"
            )
        self.path = folder_of(path)
        self._columns: dict[str, Columns] = {}
        check(self.path)

    def __repr__(self) -> str:
        said = ", measured nothing" if self.measured_nothing else ""
        return f"Run({str(self.path)!r}{said})"

    def _repr_html_(self) -> str:
        summary = self.summary
        times, slowdowns = summary["fct_us"]["all"], summary["slowdown"]["all"]
        tails = [digits(percentiles.known(each["p99"], times["count"])) for each in (times, slowdowns)]
        rows = [
            ("folder", str(self.path)),
            *((axis_name(axis), str(place)) for axis, place in self.labels.items()),
            ("seed", str(summary["seed"])),
            ("simulated", f"{digits(summary['simulated_s'] * 1e3)} ms"),
            ("flows completed", f"{summary['flows']['completed']:,} of {summary['flows']['started']:,}"),
            ("completion time", f"mean {digits(times['mean'])} µs, p99 {tails[0]} µs"),
            ("slowdown", f"mean {digits(slowdowns['mean'])}, p99 {tails[1]}"),
            ("goodput", f"{digits(summary['goodput_gbps'])} Gb/s"),
            ("loss in switches", percent(summary["loss_rate_in_switches"])),
            ("loss in NICs", percent(summary["loss_rate_in_nics"])),
            ("timeouts", f"{summary['timeouts']:,}"),
            *(("problem", problem["text"]) for problem in self.problems),
            *(("warning", text) for text in summary["warnings"]),
        ]
        return shown.facts(f"Run of {summary['name']}", rows)

    def verify(self) -> None:
        """Read every file of the run and compare it with the hash in its manifest.

        Sizes of files are checked when the run is opened, without this method.

        Raises
        ------
        ShallowsError
            If a file differs; the message names the file and the command that repeats the run.
        """
        check(self.path, verify=True)

    @cached_property
    def summary(self) -> Summary:
        """The results in numbers: `summary.json`."""
        found = self._document("summary.json")
        formats.rename(found, formats.SUMMARY)
        for key, kind in SUMMARY.items():
            if key in found and not isinstance(found[key], kind):
                raise self._unreadable("summary.json", ValueError(f"the value of {key} has the wrong type"))
        return Summary(self.path / "summary.json", found)

    @property
    def problems(self) -> list[dict[str, str]]:
        """Missing measurements, with `code` and `text`; docs/results.md lists the codes."""
        problems: list[dict[str, str]] = self.summary.get("problems", [])
        return problems

    @property
    def measured_nothing(self) -> bool:
        """Whether all measurements that the scenario requests are missing."""
        return any(problem["code"] == "nothing-measured" for problem in self.problems)

    @property
    def deadlocked(self) -> bool:
        """Whether a deadlock of pauses ended the run early."""
        return any(problem["code"] == "deadlock" for problem in self.problems)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Origin of the results (`env.json`): version, commit, seed, overrides."""
        return self._document("env.json", self._objects("env.json"))

    @property
    def labels(self) -> dict[str, Any]:
        """Place of this run in its sweep: its scheme and its value on each axis."""
        labels: dict[str, Any] = self.environment.get("labels", {})
        return labels

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario with all defaults filled in: `resolved.json`."""
        scenario = self._document("resolved.json", self._objects("resolved.json"))
        formats.rename(scenario, formats.SCENARIO)
        return scenario

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """One row for each flow, in order of arrival."""
        return self._table("flows.parquet")

    @cached_property
    def counters(self) -> "pl.DataFrame":
        """One row for each port and queue."""
        return self._table("counters.parquet")

    @cached_property
    def queries(self) -> "pl.DataFrame | None":
        """One row for each query, block or round; None if no workload of the scenario has any."""
        return self._optional_table("queries")

    @cached_property
    def queues(self) -> "pl.DataFrame | None":
        """Samples of ports and pools; None unless the scenario sets `measure.sample_queues`."""
        return self._optional_table("queues")

    @cached_property
    def markers(self) -> "pl.DataFrame | None":
        """One row for each marker of each port, with the packets it selected; None without markers."""
        return self._optional_table("markers")

    @cached_property
    def pauses(self) -> "pl.DataFrame | None":
        """One row for each port and lossless class, with its pauses; None without lossless classes."""
        return self._optional_table("pauses")

    @cached_property
    def pause_times(self) -> "pl.DataFrame | None":
        """One row for each pause of a port, with its start and end; None without lossless classes."""
        return self._optional_table("pause_times")

    @cached_property
    def traces(self) -> "pl.DataFrame | None":
        """One row for each recorded change of a traced port; None unless `measure.traces` is set."""
        return self._optional_table("traces")

    @cached_property
    def flow_traces(self) -> "pl.DataFrame | None":
        """One row for each recorded change of a traced sender; None unless `measure.flow_traces` is set."""
        return self._optional_table("flow_traces")

    @cached_property
    def pings(self) -> "pl.DataFrame | None":
        """One row for each echo request; None unless the scenario has a workload of kind `ping`."""
        return self._optional_table("pings")

    def series(self, name: str, quantity: str | None = None, queue: int | None = None) -> "Series":
        """Return a quantity of a port or pool over time; means, quantiles and windows are weighted by time.

        Values come from `traces` if the port was traced, otherwise from `queues`. Rows of these tables are
        not equally spaced in time, so the mean of a column differs from the mean over time.

        Parameters
        ----------
        name
            Name of a port, as in `counters`, or of a pool, as in `queues`.
        quantity
            A quantity in `traces`; by default `backlog_bytes` of a port or `pool_bytes` of a pool. Quantities
            of a pool require that all of the pool's ports are traced, or that traces are at intervals.
        queue
            Number of one of the port's queues; the whole port by default.

        Returns
        -------
        Series
            Values until the end of the run. The series of a backlog or pool starts with the run, at zero.
            Other series start with the first row.

        Raises
        ------
        ShallowsError
            If the quantity was not recorded; the remedy lists recorded quantities, or a setting that records
            it.

        Examples
        --------
        >>> import shallows as sh
        >>> run = sh.run(sh.example("incast"), {"measure.sample_queues": "50us"}, out=folder / "backlog")
        >>> backlog = run.series("switch0->host0")
        >>> backlog.mean() < run.queues.filter(name="switch0->host0")["bytes"].mean()  # without its idle time
        True
        >>> backlog.resampled(every_us=1000.0).columns
        ['time_us', 'mean', 'min', 'max']
        """
        from shallows.runs.recorded import of_port

        return of_port(self, name, quantity, queue)

    def by(self, what: str) -> "pl.DataFrame":
        """Return the results in groups. docs/results.md explains the columns.

        Parameters
        ----------
        what
            Name of the grouping. Flows are grouped by `workload`, `class`, `group` (of the sending host) or
            `to_group` (of the receiving host). Ports are grouped by `port` (kind of port), `queue` (kind and
            queue) or `uplinks` (leaf, with measures of how evenly it used its uplinks).

        Returns
        -------
        polars.DataFrame
            One row for each group. Times are in µs and goodput in Gb/s; utilisation is the bits sent, divided
            by the bits that the links could have carried during the run.

        Raises
        ------
        ShallowsError
            If there is no such grouping, or the scenario has no groups of hosts.

        Examples
        --------
        >>> import shallows as sh
        >>> run = sh.run(sh.example("incast"), out=folder / "by")
        >>> run.by("workload").select("workload", "kind", "flows", "completed").rows()
        [(0, 'incast', 800, 800), (1, 'long-lived', 2, 0)]
        >>> run.by("port").select("kind", "ports").rows()
        [('nic', 43), ('to-host', 43)]
        """
        from shallows.runs.breakdown import by

        return by(self, what)

    @property
    def captures(self) -> dict[str, Path]:
        """Packet captures (pcapng files) by name; empty unless the scenario sets `measure.captures`."""
        return {path.stem: path for path in sorted(self.path.glob("*.pcapng"))}

    def has(self, table: str) -> bool:
        """Return whether the run has a table of this name, without reading it."""
        return (self.path / f"{table}.parquet").exists()

    def columns(self, table: str) -> "Columns":
        """Return the `SHOWN` columns of a table, read by the engine.

        This avoids importing polars, which takes longer than showing the results of a short run.
        """
        if table not in self._columns:
            from shallows._core import Columns

            name = f"{table}.parquet"
            check_file(self.path, name)
            try:
                self._columns[table] = Columns.read(str(self.path / name), SHOWN[table])
            except OSError as error:
                raise self._unreadable(name, error) from None
        return self._columns[table]

    def __getstate__(self) -> dict[str, Any]:
        # Columns read by the engine cannot be pickled, so they are left out.
        return vars(self) | {"_columns": {}}

    def _optional_table(self, name: str) -> "pl.DataFrame | None":
        return self._table(f"{name}.parquet") if self.has(name) else None

    def _document(
        self, name: str, of_object: Callable[[dict[str, Any]], Any] | None = None
    ) -> dict[str, Any]:
        path = self.path / name
        check_file(self.path, name)
        try:
            document = parse_json(read_text(path, remedy=DAMAGED), of_object)
        except ValueError as error:
            raise self._unreadable(name, error) from None
        if not isinstance(document, dict):
            raise self._unreadable(name, ValueError("the document must be a JSON object"))
        return document

    def _objects(self, name: str) -> Callable[[dict[str, Any]], Document]:
        return lambda found: Document(self.path / name, found)

    def _table(self, name: str) -> "pl.DataFrame":
        import polars as pl

        from shallows.runs.frames import Frame

        path = self.path / name
        check_file(self.path, name)
        try:
            return Frame(pl.read_parquet(path, glob=False))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._unreadable(name, error) from None

    def _unreadable(self, name: str, error: BaseException) -> ShallowsError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return ShallowsError(f"{self.path / name} cannot be read: {reason}", DAMAGED)


def describe(labels: dict[str, Any]) -> str:
    """Return the labels of a run in words.

    >>> describe({"scheme": "reno", "workload.0.load": 0.4})
    'reno, load 0.4'
    """
    return ", ".join(
        str(value) if axis == "scheme" else f"{axis_name(axis)} {value}" for axis, value in labels.items()
    )


def axis_name(axis: str) -> str:
    """Return the name of an axis in tables and figures: the last word of its key.

    >>> axis_name("workload.0.load")
    'load'
    """
    return axis.rsplit(".", 1)[-1].replace("_", " ")


def place_on(labels: Mapping[str, Any], axis: str) -> Any:
    """Return a run's value on an axis, the first if several axes match; None if the run has no such axis.

    >>> place_on({"scheme": "reno"}, "scheme"), place_on({"scheme": "reno"}, "load")
    ('reno', None)
    """
    return next(iter(on_axis(labels, axis)), None)


def on_axis(labels: Mapping[str, Any], axis: str) -> list[Any]:
    """Return the values of all axes whose key is `axis` or ends with `axis` as its last word.

    >>> on_axis({"scheme": "reno", "workload.0.load": 0.4}, "load")
    [0.4]
    """
    return [value for key, value in labels.items() if axis in {key, key.rsplit(".", 1)[-1]}]
