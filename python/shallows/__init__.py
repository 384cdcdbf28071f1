"""A laboratory for congestion control in high-speed, shallow-buffered datacenter networks.

>>> import shallows as sh
>>> result = sh.run(sh.example("incast"), out=folder / "incast")
>>> result.summary["flows"]
{'completed': 800, 'started': 802, 'unbounded': 2}
>>> result.flows["fct_us"].count()
800

Scenario files say what to run; the engine, written in Rust, runs them; this package describes and reads.
"""

from typing import TYPE_CHECKING

from shallows.late import names_of

if TYPE_CHECKING:
    from shallows import figures
    from shallows.advisor.advising import advise
    from shallows.comparison.comparing import compare
    from shallows.comparison.comparison import Comparison
    from shallows.errors import DefectError, ScenarioError, ShallowsError
    from shallows.reproduction.reproducing import reproduce
    from shallows.runs.results import Run
    from shallows.runs.running import example, run
    from shallows.runs.scenario import Scenario
    from shallows.runs.steps import Series
    from shallows.sweeps.sweeps import Sweep, sweep

__all__ = [
    "Comparison",
    "DefectError",
    "Run",
    "Scenario",
    "ScenarioError",
    "Series",
    "ShallowsError",
    "Sweep",
    "advise",
    "compare",
    "example",
    "figures",
    "reproduce",
    "run",
    "sweep",
]

_HOMES = {
    "Comparison": "shallows.comparison.comparison",
    "DefectError": "shallows.errors",
    "Run": "shallows.runs.results",
    "Scenario": "shallows.runs.scenario",
    "ScenarioError": "shallows.errors",
    "Series": "shallows.runs.steps",
    "ShallowsError": "shallows.errors",
    "Sweep": "shallows.sweeps.sweeps",
    "advise": "shallows.advisor.advising",
    "compare": "shallows.comparison.comparing",
    "example": "shallows.runs.running",
    "figures": "shallows.figures",
    "reproduce": "shallows.reproduction.reproducing",
    "run": "shallows.runs.running",
    "sweep": "shallows.sweeps.sweeps",
}


if not TYPE_CHECKING:  # types know what is imported above, and nothing else
    # Names are looked up when they are used, so that `shallows --help` does not wait for the engine.
    __getattr__ = names_of("shallows", _HOMES)


def __dir__() -> list[str]:
    # What a prompt completes: the public names, whether or not they were used before.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
