"""Figures from finished runs, one column wide. They read results; they never simulate.

Each function takes runs and returns a matplotlib figure; `save` writes it with fonts that publishers accept.

>>> import shallows as sh
>>> run = sh.run(sh.example("incast"), out=folder / "run")
>>> figure = sh.figures.fct_cdf(run)
>>> [path.name for path in sh.figures.save(figure, folder / "fct-cdf", ["svg"])]
['fct-cdf.svg']
"""

from shallows.figures.against import fct, incast
from shallows.figures.distributions import (
    fct_cdf,
    ping,
    query_cdf,
    queue_cdf,
    shares,
    slowdown,
    slowdown_cdf,
    starvation,
)
from shallows.figures.over_time import cwnd, goodput, heat_map, queue
from shallows.figures.style import STYLE, save

__all__ = [
    "STYLE",
    "cwnd",
    "fct",
    "fct_cdf",
    "goodput",
    "heat_map",
    "incast",
    "ping",
    "query_cdf",
    "queue",
    "queue_cdf",
    "save",
    "shares",
    "slowdown",
    "slowdown_cdf",
    "starvation",
]
