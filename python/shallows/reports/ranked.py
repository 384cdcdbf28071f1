"""Rankings on a sweep's page: the order of all combinations of swept values, Pareto front, and chart."""

from collections.abc import Sequence

from shallows.bounded import parse_toml, read_text
from shallows.comparison import comparison_tables
from shallows.comparison.comparison import Comparison
from shallows.comparison.ranking import Ranking, Standing
from shallows.figures.style import Unit, time_unit
from shallows.quantity import percent
from shallows.reports.chart import Axis, Chart, Line
from shallows.reports.html import Block
from shallows.reports.page import chart, table
from shallows.runs.results import Run, axis_name
from shallows.runs.summary import DAMAGED
from shallows.series.metric import Metric

OF_THE_WORK = {"workload", "stop", "measure"}
"""Tables of a scenario that set traffic and measurement; runs that differ in them are not compared."""

DOMINATED = 7
"""Number of the grey style in `shallows.mplstyle`, its last one."""

MOST_NAMED = DOMINATED
"""Maximum number of places with their own colour in the chart: all colours but grey."""


def comparable_axes(runs: Sequence[Run]) -> list[str]:
    """Return those axes of a sweep that do not change the flows, so that runs along them are comparable."""
    found = parse_toml(read_text(runs[0].path / "scenario.toml", remedy=DAMAGED)).get("sweep", {})
    together = found.get("together", {}) if isinstance(found, dict) else {}
    axes = dict.fromkeys(axis for run in runs for axis in run.labels if axis != "seed")

    def changes_the_work(axis: str) -> bool:
        return any(key.partition(".")[0] in OF_THE_WORK for key in together.get(axis, [axis]))

    varied = [axis for axis in axes if len({str(run.labels.get(axis)) for run in runs}) > 1]
    return [axis for axis in varied if not changes_the_work(axis)]


def blocks(found: Comparison) -> list[Block]:
    """Return the blocks that show the rankings; empty if there are none."""
    if not found.rankings:
        return []
    count = len(found.rankings[0].standings)
    intro = (
        f"All {count} places in their order, each versus the first, and those that "
        f"no other beats in all of these metrics, by paired {percent(found.confidence)} intervals."
    )
    made = [Block("note", intro)]
    for ranking in found.rankings:
        ranked = table(comparison_tables.ranked(found, ranking, everything=True))
        if len(ranking.metrics) > 1:
            made.append(table(comparison_tables.pareto_optimal(ranking)))
        made.append(Block("folded", ranked.content, ranked.title, ranked.note, ranked.names))
    drawn = _chart(found.rankings)
    return [*made, chart(drawn)] if drawn else made


def _chart(rankings: Sequence[Ranking]) -> Chart | None:
    """Return a scatter plot of two metrics: dominated combinations are grey, all others have names."""
    names = rankings[0].metrics[:2]
    if len(names) < 2 or any(each.metrics[:2] != names for each in rankings):
        return None
    valued = [each for ranking in rankings for each in ranking.standings if None not in each.values.values()]
    if not valued:
        return None
    units = [_unit(name, valued) for name in names]
    lines: list[Line] = []
    for ranking in rankings:
        at = {axis_name(axis): str(value) for axis, value in ranking.point.items()}
        groups: dict[str, list[Standing]] = {}
        for each in ranking.standings:
            if each in valued:
                is_named = each in ranking.kept and len(ranking.kept) <= MOST_NAMED
                groups.setdefault(each.place if is_named else str(each.front), []).append(each)
        for number, (name, members) in enumerate(
            sorted(groups.items(), key=lambda group: group[0] == "dominated")
        ):
            points = [
                tuple(
                    (each.values[metric] or 0.0) / unit.size
                    for metric, unit in zip(names, units, strict=True)
                )
                for each in members
            ]
            look = DOMINATED if name == "dominated" else number % DOMINATED
            lines.append(Line(name, look, sorted(points), at=at, published=True))
    x, y = (
        Axis(Metric(name).title + (f" ({unit.name})" if unit.name else ""), unit.name, log=True)
        for name, unit in zip(names, units, strict=True)
    )
    title = f"{Metric(names[1]).title} against {Metric(names[0]).title}"
    return Chart("places", title, "points", x, y, lines, note="Grey: another place beats it.")


def _unit(metric: str, standings: Sequence[Standing]) -> Unit:
    if "_us." in metric:
        return time_unit(each.values[metric] or 0.0 for each in standings)
    if Metric(metric).is_loss:
        return Unit("%", 0.01)
    return Unit("Gb/s" if metric == "goodput_gbps" else "", 1)
