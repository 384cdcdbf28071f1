"""Tests of rankings in the page of a sweep with many combinations of values."""

from shallows.comparison.comparison import Comparison
from shallows.comparison.ranking import Ranking, Standing
from shallows.reports import ranked
from shallows.reports.chart import Chart


def standing(place: str, time: float, loss: float) -> Standing:
    """Return a Pareto-optimal standing with this mean completion time in µs and this loss."""
    values: dict[str, float | None] = {"fct_us.all.mean": time, "loss_rate_in_switches": loss}
    return Standing(place, values, 0.0, 0.0, 0.0, "worse", "", "Pareto-optimal", [], [])


def test_places_are_drawn_in_the_unit_of_each_metric() -> None:
    at = [standing("A", 2_000.0, 0.01), standing("B", 3_000.0, 0.005)]
    ranking = Ranking({}, ["fct_us.all.mean", "loss_rate_in_switches"], at)
    blocks = ranked.blocks(Comparison("A", 0.95, 0.05, [], rankings=[ranking]))
    [drawn] = [block.content for block in blocks if block.kind == "chart"]
    assert isinstance(drawn, Chart)
    assert (drawn.x.unit, drawn.y.unit) == ("ms", "%")
    assert [line.points for line in drawn.lines] == [[(2.0, 1.0)], [(3.0, 0.5)]]
