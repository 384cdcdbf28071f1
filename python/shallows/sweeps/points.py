"""Points of a sweep: every combination of schemes and axis values, each in a folder named by content hash.

The `[sweep]` table of a scenario file::

    [sweep]
    axes = { "workload.0.load" = [0.4, 0.6], seed = [1, 2] }
    [[sweep.scheme]]
    name = "reno"
    set = { "tcp.congestion" = "reno" }
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.bounded import parse_toml
from shallows.errors import ScenarioError, ShallowsError, did_you_mean
from shallows.runs.executing import default_folder, is_reusable
from shallows.runs.folder import check_writable, lease_soon, write_whole
from shallows.runs.index import INDEX, points_of, read_index
from shallows.runs.manifest import holds, stamp, unfit
from shallows.runs.measuring import measured_folder, measured_hash
from shallows.runs.memory import Need, need_of
from shallows.runs.results import Run, describe
from shallows.runs.source import ScenarioLike, Source, source_of
from shallows.runs.toml_text import override_texts, toml_value
from shallows.sweeps.conditions import Condition


@dataclass
class Point:
    """One run of a sweep."""

    source: Source
    hash: str
    folder: Path
    is_finished: bool
    """Whether the folder already holds the point's results, so that it does not run again."""
    damage: ShallowsError | None = None
    """Error that explains why an existing folder of the point is not used; None without such a folder."""
    stamp: object = None
    """Value of `manifest.stamp` for the folder when the sweep was planned."""
    need: Need | None = None
    """Lower bound on the point's memory; None for a testbed run."""
    curves: str = "[]"
    """Marking curves as JSON."""
    pauses: str = "[]"
    """Thresholds of pauses of lossless classes as JSON, by kind of port."""
    headrooms: str = "[]"
    """Headroom of lossless classes as JSON, by kind of port."""
    notes: tuple[str, ...] = ()
    """Values that were computed from the scenario, with their formulas."""

    @property
    def has_results(self) -> bool:
        """Whether the folder holds the point's finished run at present."""
        return holds(self.folder, self.hash)

    def was_made_since(self) -> bool:
        """Return whether the folder was finished after the sweep was planned."""
        return self.has_results and stamp(self.folder) != self.stamp


@dataclass(frozen=True)
class Outcome:
    """Outcome of a point: its run, or the reason why there is no run."""

    point: Point
    run: Run | None
    error: str | None
    reused: bool = False


@dataclass(frozen=True)
class Shard:
    """Every `count`-th point of a sweep, beginning with number `index`, counted from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse a shard as given on the command line.

        >>> Shard.parse("2/8")
        Shard(index=2, count=8)
        """
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ShallowsError(
                f"a shard must be I/N with I from 1 to N, got {text!r}", "write 1/8 for the first of eight"
            )
        return cls(int(index), int(count))

    def of(self, points: Sequence[Point]) -> list[Point]:
        """Return the points of this shard.

        Neighbouring points, whose costs are similar, belong to different shards.
        """
        return list(points[self.index - 1 :: self.count])


def plan(source: Source, out: Path | None, *, verify: bool = False) -> tuple[Path, list[Point]]:
    """Return the folder of a sweep and all of its points, after checking them.

    `verify` compares the hashes of finished points' files.

    Raises
    ------
    ScenarioError
        If a point cannot run.
    ShallowsError
        If the `[sweep]` table is missing or wrong.
    """
    _refuse_changed_table(source)
    base = source.parse()
    table = _read_table(source)
    schemes, axes, named = table.schemes, table.axes, table.together
    parent = out if out is not None else Path("runs") / base.name
    points = []
    for (scheme, changes), values in itertools.product(schemes, itertools.product(*axes.values())):
        place = dict(zip(axes, values, strict=True))
        labels = ({"scheme": scheme} if scheme is not None else {}) | place
        if not table.has(labels):
            continue
        changed = list(changes.items())
        for axis, value in place.items():
            keys = named.get(axis)
            index = axes[axis].index(value)
            changed += [(axis, value)] if keys is None else [(key, keys[key][index]) for key in keys]
        overrides = (*((key, toml_value(value)) for key, value in changed), *source.overrides)
        point = replace(source, overrides=overrides, labels=labels)
        try:
            experiment = point.parse()
        except ScenarioError as error:
            raise ScenarioError(_locate(str(error), point, scheme, axes, named)) from None
        content_hash, folder = _place_of(point, experiment, parent)
        is_finished = is_reusable(folder, content_hash, verify=verify)
        damage = None if is_finished else unfit(folder, verify=verify)
        need = need_of(experiment, describe(labels)) if point.dilation is None else None
        points.append(
            Point(
                point,
                content_hash,
                folder,
                is_finished,
                damage,
                stamp(folder),
                need,
                experiment.marking_curves(),
                experiment.pause_thresholds(),
                experiment.headrooms(),
                (*experiment.notes(),),
            )
        )
    if not points:
        raise ShallowsError(
            f"{source.file}: sweep.where and sweep.exclude remove all points of the sweep",
            "check the direction of the comparisons",
        )
    _refuse_duplicates(points)
    return parent, points


def sweep_source(scenario: ScenarioLike, overrides: Mapping[str, object] | None = None) -> Source:
    """Return the source of a sweep; the seed of a `Scenario` becomes an override that applies to all points.

    Raises
    ------
    ShallowsError
        If the scenario is neither a path nor a `Scenario`, or the file cannot be read.
    """
    source = source_of(scenario, override_texts(overrides))
    if source.seed is None:
        return source
    return replace(source, overrides=(*source.overrides, ("seed", str(source.seed))), seed=None)


def of_scheme(source: Source, name: str) -> Source:
    """Return a scenario with the keys of one scheme of its `[sweep]` table; overrides of `source` apply last.

    Raises
    ------
    ScenarioError
        If the scheme cannot run.
    ShallowsError
        If there is no such scheme.
    """
    _refuse_changed_table(source)
    schemes = {scheme: changes for scheme, changes in _read_table(source).schemes if scheme is not None}
    if name not in schemes:
        near = did_you_mean(name, schemes)
        raise ShallowsError(
            f"{source.file}: unknown scheme {name!r}" + (f"; {near}" if near else ""),
            f"the schemes are: {', '.join(schemes)}"
            if schemes
            else "the sweep has no schemes: remove --scheme",
        )
    overrides = (*((key, toml_value(value)) for key, value in schemes[name].items()), *source.overrides)
    found = replace(source, overrides=overrides, labels={"scheme": name})
    try:
        found.parse()
    except ScenarioError as error:
        raise ScenarioError(_locate(str(error), found, name, (), {})) from None
    return found


def _place_of(point: Source, experiment: _core.Experiment, parent: Path) -> tuple[str, Path]:
    """Return the content hash and the folder of a point's run."""
    if point.dilation is None:
        return experiment.hash, default_folder(experiment, parent)
    return measured_hash(experiment, point.dilation), measured_folder(experiment, parent, point.dilation)


def _refuse_changed_table(source: Source) -> None:
    """Raise an error if an override changes the `[sweep]` table, which is read only from the file."""
    for key, value in source.overrides:
        if key.partition(".")[0] == "sweep":
            raise ShallowsError(
                f"--set {key}={value}: --set cannot change the [sweep] table",
                f"edit {source.file}, or set a key outside [sweep]",
            )


@dataclass(frozen=True)
class _Table:
    """A `[sweep]` table."""

    file: str
    schemes: list[tuple[str | None, dict[str, Any]]]
    axes: dict[str, list[Any]]
    together: dict[str, dict[str, list[Any]]]
    """For each axis that sets several keys, the values of each key."""
    conditions: list[tuple[str, Condition]]
    """Conditions, each with its key: `where` or `exclude`."""

    def has(self, labels: Mapping[str, Any]) -> bool:
        """Return whether all conditions keep the point with these labels."""
        for key, condition in self.conditions:
            try:
                if condition.holds(labels) is (key == "exclude"):
                    return False
            except ValueError as error:
                raise _refuse_condition(self.file, key, f"at {describe(dict(labels))}: {error}") from None
        return True


def _refuse_condition(file: str, key: str, message: str) -> ShallowsError:
    return ShallowsError(f"{file}: sweep.{key}: {message}", "docs/scenario.md shows a [sweep] table")


def _conditions(file: str, table: Mapping[str, Any], axes: Sequence[str]) -> list[tuple[str, Condition]]:
    found = []
    for key in ("where", "exclude"):
        texts = table.get(key, [])
        for text in [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else [texts]:
            if not isinstance(text, str):
                raise _refuse_condition(
                    file, key, 'must be a condition such as "kmin <= kmax", or a list of conditions'
                )
            try:
                found.append((key, Condition(text, axes)))
            except ValueError as error:
                raise _refuse_condition(file, key, str(error)) from None
    return found


def _read_table(source: Source) -> _Table:
    """Read the `[sweep]` table and check everything that does not need the engine."""

    def refuse(message: str) -> ShallowsError:
        return ShallowsError(f"{source.file}: {message}", "docs/scenario.md shows a [sweep] table")

    try:
        table = parse_toml(source.text).get("sweep")
    except ValueError as error:
        raise refuse(str(error)) from None
    if not isinstance(table, dict):
        raise ShallowsError(
            f"{source.file} has no [sweep] table",
            f"run the scenario with `shallows run {source.file}`, or add a [sweep] table",
        )
    if unknown := sorted(table.keys() - {"axes", "together", "scheme", "where", "exclude"}):
        raise refuse(
            f"unknown key sweep.{unknown[0]}; expected one of sweep.axes, sweep.scheme, sweep.together, "
            "sweep.where, sweep.exclude"
        )
    axes, schemes, together = table.get("axes", {}), table.get("scheme", []), table.get("together", {})
    if not isinstance(axes, dict) or not all(isinstance(values, list) and values for values in axes.values()):
        raise refuse('sweep.axes must be a table of lists, such as { "workload.0.load" = [0.4, 0.6] }')
    if problem := _misfit(axes, together):
        raise refuse(problem)
    if not isinstance(schemes, list) or not all(_is_scheme(scheme) for scheme in schemes):
        raise refuse(
            "each [[sweep.scheme]] must have exactly two keys: a `name`, and a table `set` of keys and values"
        )
    if not (axes or schemes):
        raise refuse("the [sweep] table must have axes or schemes")
    names = [scheme["name"] for scheme in schemes]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise refuse(f'two schemes have the name "{twice}"; each scheme must have its own name')
    made = [(scheme["name"], scheme["set"]) for scheme in schemes]
    conditions = _conditions(source.file, table, [*axes, *(["scheme"] if schemes else [])])
    return _Table(source.file, made or [(None, {})], axes, together, conditions)


def _misfit(axes: dict[str, list[Any]], together: object) -> str:
    """Describe an error in `sweep.together`; empty if there is none."""
    if not isinstance(together, dict) or not all(
        isinstance(keys, dict) and axis in axes for axis, keys in together.items()
    ):
        return "sweep.together must have tables of keys, each named after an axis of sweep.axes"
    for axis, keys in together.items():
        for key, values in keys.items():
            if not isinstance(values, list) or len(values) != len(axes[axis]):
                return f"sweep.together.{axis}: {key} must have one value for each value of the axis {axis}"
    return ""


def _is_scheme(scheme: object) -> bool:
    return (
        isinstance(scheme, dict)
        and scheme.keys() == {"name", "set"}
        and isinstance(scheme["name"], str)
        and bool(scheme["name"].strip())
        and isinstance(scheme["set"], dict)
    )


def _locate(
    message: str, point: Source, scheme: str | None, axes: Iterable[str], named: Mapping[str, Any]
) -> str:
    """Return the engine's message, with names of overrides replaced by places in the `[sweep]` table."""
    lines = point.text.splitlines()
    for key, value in point.overrides:
        line = next((number for number, text in enumerate(lines, 1) if f'"{key}"' in text), None)
        place = f"{point.file}:{line}" if line else point.file
        what = "sweep.axes" if key in axes else f'scheme "{scheme}"'
        what = next((f"sweep.together.{axis}" for axis, keys in named.items() if key in keys), what)
        message = message.replace(f"--set {key}={value}: ", f"{place}: {what}, {key} = {value}: ", 1)
    return message


def _refuse_duplicates(points: list[Point]) -> None:
    seen: dict[Path, Point] = {}
    for point in points:
        if (other := seen.setdefault(point.folder, point)) is not point:
            raise ShallowsError(
                f"{point.source.file}: two points of the sweep result in the same run: "
                f"{describe(other.source.labels)}; {describe(point.source.labels)}",
                "remove one of the points, or correct the keys that should differ",
            )


def write_index(parent: Path, points: Sequence[Point]) -> None:
    """Write `sweep.json`: the labels and folder of every point, finished or not.

    Its contents do not depend on which points have run, so shards write identical files.
    """
    described = [{"labels": point.source.labels, "folder": point.folder.name} for point in points]
    document = {"points": described, "settings": settings_of(points)}
    write_whole(parent / INDEX, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def settings_of(points: Sequence[Point]) -> str:
    """Return a hash of the settings of all points, which does not depend on the build of the engine.

    The hash covers the text of the scenario, and the overrides of each point.
    """
    said = [[point.source.text, point.source.overrides] for point in points[:1]]
    said += [[point.source.overrides] for point in points[1:]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def enter(parent: Path, points: Sequence[Point], *, replaces: bool = False) -> None:
    """Write `sweep.json` of a sweep that is about to run, unless the folder belongs to another sweep.

    A sweep in the folder counts as this sweep even if it has more or fewer points, or results of another
    build. `replaces` permits replacing the `sweep.json` of another sweep; the runs of that sweep stay. A
    lease prevents concurrent writes.

    Raises
    ------
    ShallowsError
        If the folder holds another sweep, or cannot be written.
    """
    check_writable(parent)
    lease = lease_soon(parent / INDEX)
    try:
        if not replaces:
            _refuse_other(parent, points)
        write_index(parent, points)
    finally:
        lease.release()


def _refuse_other(parent: Path, points: Sequence[Point]) -> None:
    """Raise an error if the folder holds a sweep with other settings and without any of these points."""
    there = points_of(parent)
    ours = {point.folder for point in points}
    if not there or any(path in ours for path, _ in there):
        return
    known = read_index(parent).get("settings")
    alike = [labels for _, labels in there] == [point.source.labels for point in points]
    if known == settings_of(points) or (known is None and alike):
        return
    other = _said(there[0][0], len(there), there[0][1])
    this = _said(points[0].folder, len(points), points[0].source.labels)
    raise ShallowsError(
        f"{parent} contains another sweep, {other}; this sweep, {this}, has other settings and no point "
        "in common with it",
        f"name another folder with --out (out= in Python), or remove {parent / INDEX}: the runs remain",
    )


def _said(folder: Path, count: int, labels: Mapping[str, Any]) -> str:
    """Describe a sweep by its first point."""
    name = re.sub(r"-[0-9a-f]{12}-s[0-9]+.*", "", folder.name)
    return f'"{name}" ({count} points, the first at {describe(dict(labels))})'


def finished_runs(points: Iterable[Point]) -> list[Run]:
    """Return the finished runs of these points, including those of other processes."""
    return [Run(point.folder) for point in points if point.has_results]
