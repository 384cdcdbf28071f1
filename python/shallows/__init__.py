"""A laboratory for congestion control in high-speed, shallow-buffered datacenter networks.

>>> import shallows as sh
>>> result = sh.run(sh.example("incast"), out=folder / "incast")
>>> result.summary["flows"]
{'completed': 800, 'started': 802}
>>> result.flows["fct_us"].count()
800

Scenario files say what to run; the engine, written in Rust, runs them; this package describes and reads.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.comparison import Comparison, compare
    from shallows.errors import DefectError, ScenarioError, ShallowsError
    from shallows.results import Run
    from shallows.running import example, run

__all__ = [
    "Comparison",
    "DefectError",
    "Run",
    "ScenarioError",
    "ShallowsError",
    "compare",
    "example",
    "run",
]

_HOMES = {
    "Comparison": "shallows.comparison",
    "DefectError": "shallows.errors",
    "Run": "shallows.results",
    "ScenarioError": "shallows.errors",
    "ShallowsError": "shallows.errors",
    "compare": "shallows.comparison",
    "example": "shallows.running",
    "run": "shallows.running",
}


def __getattr__(name: str) -> Any:
    # Names are looked up when they are used, so that `shallows --help` does not wait for the engine.
    if name not in _HOMES:
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
