"""A laboratory for congestion control in high-speed, shallow-buffered datacenter networks.

>>> import shallows as sh
>>> result = sh.run(sh.example("incast"), out=folder / "incast")
>>> result.summary["flows"]
{'completed': 800, 'endless': 2, 'started': 802}
>>> result.flows["fct_us"].count()
800

Scenario files say what to run; the engine, written in Rust, runs them; this package describes and reads.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows import figures
    from shallows.comparison import Comparison, compare
    from shallows.errors import DefectError, ScenarioError, ShallowsError
    from shallows.results import Run
    from shallows.running import example, run
    from shallows.scenario import Scenario
    from shallows.series import Series
    from shallows.sweeps import Sweep, sweep

__all__ = [
    "Comparison",
    "DefectError",
    "Run",
    "Scenario",
    "ScenarioError",
    "Series",
    "ShallowsError",
    "Sweep",
    "compare",
    "example",
    "figures",
    "run",
    "sweep",
]

_HOMES = {
    "Comparison": "shallows.comparison",
    "DefectError": "shallows.errors",
    "Run": "shallows.results",
    "Scenario": "shallows.scenario",
    "ScenarioError": "shallows.errors",
    "Series": "shallows.series",
    "ShallowsError": "shallows.errors",
    "Sweep": "shallows.sweeps",
    "compare": "shallows.comparison",
    "example": "shallows.running",
    "figures": "shallows.figures",
    "run": "shallows.running",
    "sweep": "shallows.sweeps",
}


def __getattr__(name: str) -> Any:
    # Names are looked up when they are used, so that `shallows --help` does not wait for the engine.
    if name not in _HOMES:
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES[name])
    return home if home.__name__.endswith(f".{name}") else getattr(home, name)
