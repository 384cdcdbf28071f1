"""Contents of a drawing."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D


def curves(plot: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """The lines of a panel by their names."""
    lines = [line for line in plot.get_lines() if not str(line.get_label()).startswith("_")]
    return {str(line.get_label()): data(line) for line in lines}


def data(line: Line2D) -> tuple[list[float], list[float]]:
    """Places and values of a line."""
    return np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()
