"""Figures of finished runs, one column wide. They read results and never simulate.

Each function takes runs and returns a matplotlib figure; `save` writes it with fonts that publishers accept.

>>> import shallows as sh
>>> run = sh.run(sh.example("incast"), out=folder / "run")
>>> figure = sh.figures.fct_cdf(run)
>>> [path.name for path in sh.figures.save(figure, folder / "fct-cdf", ["svg"])]
['fct-cdf.svg']
"""

from typing import TYPE_CHECKING

from shallows.late import names_of

if TYPE_CHECKING:
    from shallows.figures.against import classes, fct, incast
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
    from shallows.figures.lossless import headroom, pauses
    from shallows.figures.over_time import cwnd, goodput, heat_map, queue, rate
    from shallows.figures.schemes import dots, frontier
    from shallows.figures.style import STYLE, save

__all__ = [
    "STYLE",
    "classes",
    "cwnd",
    "dots",
    "fct",
    "fct_cdf",
    "frontier",
    "goodput",
    "headroom",
    "heat_map",
    "incast",
    "pauses",
    "ping",
    "query_cdf",
    "queue",
    "queue_cdf",
    "rate",
    "save",
    "shares",
    "slowdown",
    "slowdown_cdf",
    "starvation",
]

_HOMES = {
    "STYLE": "shallows.figures.style",
    "classes": "shallows.figures.against",
    "cwnd": "shallows.figures.over_time",
    "dots": "shallows.figures.schemes",
    "fct": "shallows.figures.against",
    "fct_cdf": "shallows.figures.distributions",
    "frontier": "shallows.figures.schemes",
    "goodput": "shallows.figures.over_time",
    "headroom": "shallows.figures.lossless",
    "heat_map": "shallows.figures.over_time",
    "incast": "shallows.figures.against",
    "pauses": "shallows.figures.lossless",
    "ping": "shallows.figures.distributions",
    "query_cdf": "shallows.figures.distributions",
    "queue": "shallows.figures.over_time",
    "queue_cdf": "shallows.figures.distributions",
    "rate": "shallows.figures.over_time",
    "save": "shallows.figures.style",
    "shares": "shallows.figures.distributions",
    "slowdown": "shallows.figures.distributions",
    "slowdown_cdf": "shallows.figures.distributions",
    "starvation": "shallows.figures.distributions",
}

if not TYPE_CHECKING:
    # Import on first use: pages use units and colours from here, but no matplotlib.
    __getattr__ = names_of("shallows.figures", _HOMES)
