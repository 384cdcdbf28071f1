"""Figures from finished runs. They read results; they never simulate."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError
from shallows.quantity import digits
from shallows.results import Run, axis_name, describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

STYLE = Path(__file__).with_name("shallows.mplstyle")

LEGEND_CHARACTERS = 56
"""What a line of the legend holds at the style's font size and column width."""

Metric = Callable[[dict[str, Any]], "float | None"]


def fct(runs: Sequence[Run]) -> "Figure":
    """Mean time of large flows, 99th percentile of small flows, and loss, each against load.

    One line for each scheme; runs that differ in nothing but their seed are one point, the mean of theirs.

    Parameters
    ----------
    runs
        Finished runs of one sweep that has the load, or another number, as an axis.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.
    """
    import matplotlib.pyplot as plt

    axis = _horizontal_axis(runs)
    summaries = [run.summary for run in runs]
    # A size of flows that no run has gets no panel.
    with plt.style.context(STYLE):
        has_large, has_small = (any(map(metric, summaries)) for metric in (_large_mean, _small_p99))
        panels = 1 + has_large + has_small
        figure, grid = plt.subplots(panels, sharex=True, squeeze=False, figsize=(3.35, 0.8 + 1.2 * panels))
        plots = list(grid[:, 0])
        if has_large:
            large = plots[0]
            _draw_panel(large, runs, axis, _large_mean)
            large.set(ylabel="large flows:\nmean FCT (ms)", ylim=(0, None))
        if has_small:
            small = plots[-2]
            _draw_panel(small, runs, axis, _small_p99)
            small.set(ylabel="small flows:\n99th pct. FCT (ms)", yscale="log")
            _few_log_ticks(small)
        loss = plots[-1]
        losses = _draw_panel(loss, runs, axis, lambda s: 100 * float(s["loss_rate"]))
        loss.set(ylabel="packets\nlost (%)", xlabel=_axis_label(axis))
        _scale_with_zero(loss, losses)
        for plot in plots:
            plot.yaxis.set_major_formatter(_plain_numbers())
        _add_legend(figure, loss)
        figure.align_ylabels()
        return figure


def _horizontal_axis(runs: Sequence[Run]) -> str:
    def is_numeric(axis: str) -> bool:
        values = [run.labels.get(axis) for run in runs]
        return all(isinstance(value, int | float) for value in values) and len(set(values)) > 1

    axes = dict.fromkeys(axis for run in runs for axis in run.labels if axis not in {"scheme", "seed"})
    numeric = sorted((axis for axis in axes if is_numeric(axis)), key=lambda axis: axis_name(axis) != "load")
    if not numeric:
        raise ShallowsError(
            "these runs differ in no number that could be the figure's axis",
            "name the folder of a sweep over loads, such as the one that `shallows demo --full` writes",
        )
    return numeric[0]


def _axis_label(axis: str) -> str:
    return "load (%)" if axis_name(axis) == "load" else axis_name(axis)


def _draw_panel(plot: "Axes", runs: Sequence[Run], axis: str, metric: Metric) -> list[float]:
    """Draw one line for each scheme; returns all values drawn."""
    percent = 100 if axis_name(axis) == "load" else 1
    drawn: list[float] = []
    for index, scheme in enumerate(dict.fromkeys(_series(run, axis) for run in runs)):
        found: dict[float, list[float]] = {}
        for run in runs:
            value = metric(run.summary)
            if _series(run, axis) == scheme and value is not None:
                found.setdefault(run.labels[axis] * percent, []).append(value)
        places = sorted(found)
        means = [math.fsum(found[place]) / len(found[place]) for place in places]
        # Open markers, later series below: points that coincide stay visible.
        plot.plot(places, means, label=scheme, markerfacecolor="white", clip_on=False, zorder=3 - 0.1 * index)
        drawn += means
    return drawn


def _series(run: Run, axis: str) -> str:
    return describe({name: value for name, value in run.labels.items() if name not in {axis, "seed"}})


def _large_mean(summary: dict[str, Any]) -> float | None:
    return _milliseconds(summary["fct_us"].get("large", {}).get("mean"))


def _small_p99(summary: dict[str, Any]) -> float | None:
    return _milliseconds(summary["fct_us"].get("small", {}).get("p99"))


def _milliseconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e3


def _plain_numbers() -> "Formatter":
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: digits(value))


def _few_log_ticks(plot: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    plot.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    plot.yaxis.set_minor_locator(NullLocator())
    low, high = plot.get_ylim()
    plot.set_ylim(low / 1.15, high * 1.15)


def _scale_with_zero(plot: "Axes", values: Sequence[float]) -> None:
    """A logarithmic axis that also has a zero: many points lose nothing at all."""
    from matplotlib.ticker import NullLocator

    positive = [value for value in values if value > 0]
    if not positive:
        plot.set_ylim(0, 1)
        return
    lowest = math.floor(math.log10(min(positive)))
    plot.set_yscale("symlog", linthresh=10.0**lowest, linscale=0.6)
    plot.yaxis.set_minor_locator(NullLocator())
    plot.set_ylim(0, max(positive) * 1.6)


def _add_legend(figure: "Figure", plot: "Axes") -> None:
    handles, names = plot.get_legend_handles_labels()
    if len(names) > 1:
        # As many columns as fit: a column is as wide as the longest name and its line.
        columns = max(1, min(len(names), LEGEND_CHARACTERS // (max(map(len, names)) + 8)))
        figure.legend(handles, names, loc="outside upper center", ncols=columns)


def save(figure: "Figure", stem: Path, formats: Iterable[str] = ("pdf", "png")) -> list[Path]:
    """Write a figure in some formats beside each other, and return the files."""
    import matplotlib.pyplot as plt

    paths = [stem.with_suffix(f".{kind}") for kind in formats]
    with plt.style.context(STYLE):
        for path in paths:
            # Without a date, the same results give the same file.
            metadata = (
                {"CreationDate": None}
                if path.suffix == ".pdf"
                else {"Date": None}
                if path.suffix == ".svg"
                else None
            )
            figure.savefig(path, metadata=metadata)
    plt.close(figure)
    return paths
