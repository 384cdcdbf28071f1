"""Functions that return the lines of a drawn figure as numbers."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D


def curves(plot: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """Return the points of each labelled line in a panel, by label."""
    lines = [line for line in plot.get_lines() if not str(line.get_label()).startswith("_")]
    return {str(line.get_label()): data(line) for line in lines}


def data(line: Line2D) -> tuple[list[float], list[float]]:
    """Return the horizontal and the vertical coordinates of a line's points."""
    return np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()
