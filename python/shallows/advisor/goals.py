"""Operators' goals in a small language: `p99 of small flows below 1 ms at 80 % load, then throughput`.

    goals     = goal { "," "then" goal }
    goal      = number [ "below" quantity ] [ "at" percent "load" ]
    number    = ( "p99" | "mean" ) "of" ( "small" | "medium" | "large" | "all" ) "flows" [ "of" class ]
              | ( "p99" | "mean" ) "of" "queries" | "throughput" | "loss" | "pauses" | "time paused"

The first goal counts most. Among settings that keep all bounds, goals without a bound decide in their order.
A table with weights is an alternative to this order: `{ "p99 of small flows" = 2, throughput = 1 }`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shallows.errors import ShallowsError
from shallows.quantity import digits, parse_quantity, percent
from shallows.series.metric import Metric

SHAPE = '"p99 of small flows below 1 ms at 80 % load, then throughput, then loss"'

REMEDY = f"write goals such as {SHAPE}; docs/advisor.md lists the words"

DEFAULT = "loss below 0.1 %, then throughput, then p99 of small flows"
"""Default goals: BCC (INFOCOM '20) §IV-A ranks low loss above throughput; a loss of 0.1 % is too high."""

_GOAL = re.compile(
    r"(?P<what>.+?)(?: below (?P<bound>\S+(?: ?\S+)?))?(?: at (?P<load>[0-9.]+) ?% load)?", re.IGNORECASE
)
_FLOWS = re.compile(
    r"(?P<rank>p99|mean) of (?P<size>small|medium|large|all) flows(?: of (?P<name>.+))?", re.IGNORECASE
)
_QUERIES = re.compile(r"(?P<rank>p99|mean) of queries", re.IGNORECASE)


@dataclass(frozen=True)
class Goal:
    """A measure to minimise, optionally with a bound."""

    said: str
    """The measure in the operator's words."""
    metric: Metric
    bound: float | None = None
    """Bound in the metric's unit: µs, a share of packets, or a number of pauses."""
    load: float | None = None
    """Load; None for the highest."""
    weight: float | None = None
    """Weight of the goal; None if the order of the goals counts."""

    @property
    def text(self) -> str:
        """Return the goal with its bound."""
        bound = "" if self.bound is None else f" below {value_text(self.metric, self.bound)}"
        return f"{self.said}{bound}" + ("" if self.load is None else f" at {percent(self.load)} load")


def value_text(metric: Metric, value: float | None) -> str:
    """Format a metric's value with its unit.

    >>> value_text(Metric("fct_us.small.p99"), 1234.0), value_text(Metric("loss_rate_in_switches"), 0.00123)
    ('1.23 ms', '0.123 %')
    >>> value_text(Metric("pauses"), 12.4), value_text(Metric("paused_us"), 950.0)
    ('12.4', '950 µs')
    """
    from shallows.advisor.rules import seconds

    if value is None:
        return "–"
    if metric.name == "pauses":
        return digits(value)
    return percent(value) if metric.is_loss else seconds(value / 1e6)


TAIL = Goal("p99 of small flows", Metric("fct_us.small.p99"))
THROUGHPUT = Goal("throughput", Metric("fct_us.large.mean"))
LOSS = Goal("loss", Metric("loss_rate_in_switches"))
AXES = (TAIL, THROUGHPUT, LOSS)
"""Axes of the Pareto front, whatever the goals.

Throughput is measured as in papers, by the mean completion time of large flows.
"""


PAUSES = (Goal("pauses", Metric("pauses")), Goal("time paused", Metric("paused_us")))
"""Measures of lossless classes, shown beside the goals; they affect the choice only if they are goals."""


def parse(given: object, classes: Sequence[str]) -> list[Goal]:
    """Parse the goals of a fabric's file: a text, or a table of weights.

    Parameters
    ----------
    given
        The value of `goal`.
    classes
        Names of the fabric's classes, which goals may use.

    Raises
    ------
    ShallowsError
        If the type is wrong, a word is unknown, or goals contradict each other.

    Examples
    --------
    >>> [goal.text for goal in parse("p99 of small flows below 1 ms at 80 % load, then throughput", [])]
    ['p99 of small flows below 1 ms at 80 % load', 'throughput']
    >>> [(goal.said, goal.weight) for goal in parse({"p99 of small flows": 2, "loss": 1}, [])]
    [('p99 of small flows', 2.0), ('loss', 1.0)]
    """
    match given:
        case str():
            found = [_goal(part, classes) for part in re.split(r",?\s+then\s+", " ".join(given.split()))]
        case Mapping() if given:
            found = [
                replace(_goal(str(part), classes), weight=_weight(part, of)) for part, of in given.items()
            ]
        case _:
            raise ShallowsError("goal must be a string or a table of weights", REMEDY)
    _refuse_contradictions(found)
    return found


def _weight(goal: object, weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e6:
        raise ShallowsError(f"goal: the weight of {goal!r} must be a number above 0, got {weight!r}", REMEDY)
    return float(weight)


def _goal(text: str, classes: Sequence[str]) -> Goal:
    found = _GOAL.fullmatch(text.strip())
    if found is None:
        raise ShallowsError("goal must not be empty", REMEDY)
    goal = _number(found["what"].strip(), classes)
    load = None if found["load"] is None else _load(found["load"])
    bound = None if found["bound"] is None else _bound(found["bound"], goal)
    return replace(goal, bound=bound, load=load)


def _number(what: str, classes: Sequence[str]) -> Goal:
    plain = what.lower()
    if plain == "throughput":
        return THROUGHPUT
    if plain == "loss":
        return LOSS
    if measure := next((each for each in PAUSES if each.said == plain), None):
        return measure
    if found := _QUERIES.fullmatch(what):
        return Goal(plain, Metric(f"query_us.all.{found['rank'].lower()}"))
    if (found := _FLOWS.fullmatch(what)) is None:
        raise ShallowsError(f"goal: unknown measure {what!r}", REMEDY)
    rank, size, name = found["rank"].lower(), found["size"].lower(), found["name"]
    where = ""
    if name is not None:
        if name not in classes:
            known = ", ".join(classes) or "none: the fabric has one class"
            raise ShallowsError(f"goal: unknown class {name!r}", f"the classes are: {known}")
        where = f"@class{list(classes).index(name)}"
    said = f"{rank} of {size} flows" + (f" of {name}" if name else "")
    return Goal(said, Metric(f"fct_us.{size}.{rank}{where}"))


def _load(text: str) -> float:
    try:
        load = float(text) / 100
    except ValueError:
        load = 0.0
    if not 0 < load < 1:
        raise ShallowsError(f"goal: a load must be above 0 and below 100 %, got {text} %", REMEDY)
    return load


def _bound(text: str, goal: Goal) -> float:
    if goal.said == THROUGHPUT.said:
        raise ShallowsError(
            "goal: throughput must have no bound, because it is measured by the mean time of large flows",
            "write `throughput` alone, or `mean of large flows below 20 ms`",
        )
    wrong = ShallowsError(
        f"goal: {text!r} is not a bound of {goal.said}", "write a time such as 1 ms or a loss such as 0.1 %"
    )
    if goal.metric.is_loss:
        found = re.fullmatch(r"([0-9.]+) ?%", text)
        try:
            value = float(found[1]) / 100 if found else 0.0
        except ValueError:
            value = 0.0
        if not 0 < value < 1:
            raise wrong
        return value
    if goal.said == "pauses":
        if re.fullmatch(r"[1-9][0-9]{0,8}", text) is None:
            raise ShallowsError(
                f"goal: {text!r} is not a bound of pauses",
                "write a whole number from 1 to 999999999, such as 100",
            )
        return float(text)
    try:
        quantity = parse_quantity(text.replace("µ", "u"))
    except ValueError:
        raise wrong from None
    if quantity.of != "seconds" or quantity.number <= 0:
        raise wrong
    return float(quantity.number) * 1e6


def _refuse_contradictions(goals: Sequence[Goal]) -> None:
    seen: dict[tuple[str, float | None], Goal] = {}
    for goal in goals:
        other = seen.setdefault((goal.metric.name, goal.load), goal)
        if other is goal:
            continue
        kind = "have different bounds for one measure" if other.bound != goal.bound else "are the same"
        raise ShallowsError(f"goal: {other.text!r} and {goal.text!r} {kind}", "give each measure once")


def refuse_pauses(goals: Sequence[Goal], classes: Sequence[str]) -> None:
    """Reject goals for pauses if no class is lossless; `classes` names the lossless classes.

    Raises
    ------
    ShallowsError
        If there is such a goal.
    """
    paused = [goal for goal in goals if is_of_pauses(goal)]
    if paused and not classes:
        raise ShallowsError(
            f"goal: {paused[0].said!r} needs a lossless class, because only such classes are paused",
            "set `lossless = true` in a [[class]] table, or remove the goal",
        )


def is_of_pauses(goal: Goal) -> bool:
    """Return whether a goal measures the pauses of lossless classes."""
    return any(goal.metric == each.metric for each in PAUSES)


def refuse_impossible(goals: Sequence[Goal], rtt: float, loads: Sequence[float]) -> None:
    """Reject bounds that no setting can meet.

    Raises
    ------
    ShallowsError
        If a time bound is below half of the base round-trip time, or the load of a goal is above the largest
        value of `traffic.load`.
    """
    for goal in goals:
        is_time = not (goal.metric.is_loss or is_of_pauses(goal))
        if goal.bound is not None and is_time and goal.bound < rtt * 1e6 / 2:
            raise ShallowsError(
                f"goal: the bound of {goal.text!r} must be at least "
                f"{value_text(goal.metric, rtt * 1e6 / 2)} (half of the round-trip time), because no flow "
                "completes sooner",
                "raise the bound, or check links.rtt",
            )
        if goal.load is not None and goal.load > max(loads) + 1e-9:
            raise ShallowsError(
                f"goal: the load of {goal.text!r} must be at most "
                f"{percent(max(loads))}, the highest value of traffic.load",
                "raise traffic.load, or lower the goal's load",
            )
