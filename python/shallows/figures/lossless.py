"""Figures of lossless classes: pauses of ports over time, and use of their headroom."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.figures.over_time import FIELDS, NAME_HEIGHT, TALLEST, each_run
from shallows.quantity import percent
from shallows.series.flow_series import end_us
from shallows.series.inputs import Runs, as_list, table
from shallows.series.pauses import Sender, names, pauses_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PORTS = 40
"""Maximum number of ports in a panel; those that were paused for the longest time are drawn."""


def pauses(runs: Runs) -> "Figure":
    """Draw when each port was paused, and the share of the run for which it was paused.

    Each field of a port's row shows for which share of an interval the port could not send packets of a
    lossless class. The numbers on the right are shares of the whole run. Each run has its own panel.

    Parameters
    ----------
    runs
        Finished runs of scenarios with `switch.lossless`.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("models/lossless"), {"stop.at": "500us"}, out=folder / "pauses")
    >>> sh.figures.pauses(run).axes[0].get_xlabel()
    'time (µs)'
    """
    import numpy as np

    maps = []
    for _, label, run in each_run(as_list(runs)):
        found = pauses_of(run)
        totals = {sender: float((each.ends - each.starts).sum()) for sender, each in found.items()}
        longest = set(sorted(totals, key=lambda sender: -totals[sender])[:MOST_PORTS])
        drawn = {sender: each for sender, each in found.items() if sender in longest}
        end = end_us(run)
        edges = np.linspace(0, end, FIELDS + 1)
        field = np.array([each.shares(edges) for each in drawn.values()])
        shares = [totals[sender] / end for sender in drawn]
        maps.append((_named(label, len(drawn), len(found)), names([*drawn]), shares, field, end))
    height = _height([len(ports) for _, ports, *_ in maps], 0.12)
    with style.panels(len(maps), 1, height, sharex=True) as (figure, plots):
        time = style.time_axis(plots[-1], max(end for *_, end in maps))
        image = None
        for plot, (label, ports, shares, field, end) in zip(plots, maps, strict=True):
            if not _begin(plot, label, ports, "no port was paused"):
                continue
            extent = (0, end / time.size, len(ports) - 0.5, -0.5)
            look: dict[str, Any] = {
                "aspect": "auto",
                "interpolation": "nearest",
                "cmap": "Blues",
                "vmin": 0,
                "vmax": 1,
            }
            image = plot.imshow(field, extent=extent, **look)
            _name_rows(plot, ports, [percent(share) for share in shares], height)
        if image is not None:
            bar = figure.colorbar(image, ax=plots, location="top", aspect=40, pad=0.06)
            bar.set_label("share of time paused; right: of the whole run")
    return figure


def _named(label: str, drawn: int, found: int) -> str:
    """Return the name of a panel, with the number of drawn ports if some ports are omitted."""
    return label if drawn == found else f"{label} ({drawn} of {found} ports)".strip()


def _height(ports: Sequence[int], row: float) -> float:
    """Return the height of each panel for these numbers of ports, with rows of height `row`."""
    return min(0.3 + row * max(*ports, 2), 4.5, TALLEST / len(ports))


def _begin(plot: "Axes", label: str, ports: Sequence[str], nothing: str) -> bool:
    """Name a panel, and return whether it has ports; without ports, write the text of `nothing` into it."""
    style.name_panel(plot, label)
    if not ports:
        style.say_empty(plot, nothing)
    return bool(ports)


def _name_rows(plot: "Axes", ports: list[str], values: list[str], height: float) -> None:
    """Label as many rows as fit into the height, with ports on the left and values on the right."""
    most = max(int(height / NAME_HEIGHT), 1)
    step = -(-len(ports) // most)
    rows = range(0, len(ports), step)
    plot.set_yticks(rows, ports[::step], fontsize=6)
    right = plot.secondary_yaxis("right")
    right.set_yticks(rows, values[::step], fontsize=6)
    for axis in (plot, right):
        axis.tick_params(axis="y", length=0)
    plot.grid(visible=False)


def headroom(runs: Runs) -> "Figure":
    """Draw the largest use and the size of the headroom, for each port that used headroom.

    Parameters
    ----------
    runs
        Finished runs of scenarios with `switch.lossless`.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("models/lossless"), {"stop.at": "500us"}, out=folder / "headroom")
    >>> sh.figures.headroom(run).axes[0].get_xlabel()
    'headroom (KB)'
    """
    import polars as pl

    shown = []
    for _, label, run in each_run(as_list(runs)):
        used = table(run, "pauses").filter(pl.col("max_headroom_bytes") > 0)
        fullest = used.sort(pl.col("max_headroom_bytes") / pl.col("headroom_bytes"), descending=True)
        drawn = fullest.head(MOST_PORTS)
        ports = names([Sender(*row) for row in drawn.select("port", "class").iter_rows()])
        sizes, peaks = (drawn[name].to_list() for name in ("headroom_bytes", "max_headroom_bytes"))
        shown.append((_named(label, len(drawn), len(used)), ports, sizes, peaks))
    height = _height([len(ports) for _, ports, *_ in shown], 0.13)
    top = max((size for _, _, sizes, _ in shown for size in sizes), default=1)
    unit = style.size_unit([top])
    with style.panels(len(shown), 1, height, sharex=True) as (figure, plots):
        for plot, (label, ports, sizes, peaks) in zip(plots, shown, strict=True):
            if not _begin(plot, label, ports, "no headroom was used"):
                continue
            color = style.look(0)["color"]
            rows = range(len(ports))
            plot.barh(rows, [size / unit.size for size in sizes], 0.7, color="0.88", label="headroom")
            plot.barh(rows, [peak / unit.size for peak in peaks], 0.7, color=color, label="largest use")
            shares = [percent(peak / size) for peak, size in zip(peaks, sizes, strict=True)]
            plot.set_ylim(len(ports) - 0.5, -0.5)
            _name_rows(plot, ports, shares, height)
        style.scale(plots[-1], "x", [top / unit.size])
        plots[-1].set_xlabel(f"headroom ({unit.name})")
        style.add_legend(figure, *plots)
    return figure
