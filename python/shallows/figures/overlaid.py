"""Figure of queues in simulation and with real TCP, overlaid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.comparison.agreement import queue
from shallows.runs.results import Run
from shallows.series.backlogs import busiest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("simulated", "real TCP")

SHOWN = 400
"""Maximum number of parts of a line over time: more would not be visible in a printed column."""


def queues(simulated: Sequence[Run], real: Sequence[Run]) -> "Figure":
    """Draw the backlog of the busiest switch port: over time for the first pair of runs, and as distribution.

    Parameters
    ----------
    simulated, real
        Runs of one scenario with `measure.sample_queues` or `measure.traces`.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide. The upper panel shows the backlog over a tenth of the time after
        the warm-up, the lower panel the distribution over all of that time.
    """
    import numpy as np

    port = busiest(simulated, most=1)[0]
    sides = [[queue(run, port) for run in side] for side in (simulated, real)]
    unit = style.size_unit([max(series.max() for side in sides for series in side)])
    with style.panels(2, 1, 1.1) as (figure, (over_time, distribution)):
        begin, end = (float(sides[0][0].times[place]) for place in (0, -1))
        end = begin + (end - begin) / 10
        time = style.time_axis(over_time, end)
        over_time.set_xlim(begin / time.size, end / time.size)
        for place, (name, side) in enumerate(zip(NAMES, sides, strict=True)):
            look: dict[str, Any] = style.look(place) | {"marker": "none", "linewidth": 0.8}
            parts = side[0].between(begin, end).parts(SHOWN)
            mean = np.append(parts.mean, parts.mean[-1]) / unit.size
            over_time.plot(parts.edges / time.size, mean, drawstyle="steps-post", label=name, **look)
            for number, series in enumerate(side):
                values, shares = series.distribution()
                label = f"_{name} {number}" if number else name  # `_` hides a line in the legend
                distribution.plot(values / unit.size, shares, drawstyle="steps-post", label=label, **look)
        over_time.set_ylabel(f"backlog ({unit.name})")
        over_time.set_ylim(bottom=0)
        style.name_panel(over_time, port)
        distribution.set_xlabel(f"backlog ({unit.name})")
        distribution.set_ylabel("share of time")
        distribution.set_ylim(0, 1)
        style.add_legend(figure, over_time)
    return figure
