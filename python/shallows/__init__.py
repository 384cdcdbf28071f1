"""A laboratory for congestion control in high-speed, shallow-buffered datacenter networks.

>>> import shallows as sh
>>> result = sh.run(sh.example("incast"), out=folder / "incast")
>>> result.summary["flows"]
{'completed': 800, 'started': 802, 'unbounded': 2}
>>> result.flows["fct_us"].count()
800

A scenario file describes an experiment, the engine (written in Rust) simulates it, and this package reads the
results.
"""

from typing import TYPE_CHECKING

from shallows.late import names_of

if TYPE_CHECKING:
    from shallows import figures
    from shallows.advisor.advising import advise
    from shallows.advisor.chips import chip, chips
    from shallows.advisor.explaining import explain
    from shallows.advisor.exporting import export_switch
    from shallows.comparison.comparing import compare
    from shallows.comparison.comparison import Comparison
    from shallows.comparison.testbed import compare_testbed
    from shallows.errors import DefectError, ScenarioError, ShallowsError
    from shallows.foreign.importing import export_hpcc, import_hpcc, import_htsim
    from shallows.reports.found import report
    from shallows.reproduction.reproducing import reproduce
    from shallows.runs.measuring import run_testbed
    from shallows.runs.results import Run
    from shallows.runs.running import example, run
    from shallows.runs.steps import Series
    from shallows.runs.summary import Summary
    from shallows.sweeps.planning import Plan, plan
    from shallows.sweeps.scenario import Scenario
    from shallows.sweeps.sweeps import Sweep, load, merge, sweep

__all__ = [
    "Comparison",
    "DefectError",
    "Plan",
    "Run",
    "Scenario",
    "ScenarioError",
    "Series",
    "ShallowsError",
    "Summary",
    "Sweep",
    "advise",
    "chip",
    "chips",
    "compare",
    "compare_testbed",
    "example",
    "explain",
    "export_hpcc",
    "export_switch",
    "figures",
    "import_hpcc",
    "import_htsim",
    "load",
    "merge",
    "plan",
    "report",
    "reproduce",
    "run",
    "run_testbed",
    "sweep",
]

_HOMES = {
    "Comparison": "shallows.comparison.comparison",
    "DefectError": "shallows.errors",
    "Plan": "shallows.sweeps.planning",
    "Run": "shallows.runs.results",
    "Scenario": "shallows.sweeps.scenario",
    "ScenarioError": "shallows.errors",
    "Series": "shallows.runs.steps",
    "ShallowsError": "shallows.errors",
    "Summary": "shallows.runs.summary",
    "Sweep": "shallows.sweeps.sweeps",
    "advise": "shallows.advisor.advising",
    "chip": "shallows.advisor.chips",
    "chips": "shallows.advisor.chips",
    "compare": "shallows.comparison.comparing",
    "compare_testbed": "shallows.comparison.testbed",
    "example": "shallows.runs.running",
    "explain": "shallows.advisor.explaining",
    "export_hpcc": "shallows.foreign.importing",
    "export_switch": "shallows.advisor.exporting",
    "figures": "shallows.figures",
    "import_hpcc": "shallows.foreign.importing",
    "import_htsim": "shallows.foreign.importing",
    "load": "shallows.sweeps.sweeps",
    "merge": "shallows.sweeps.sweeps",
    "plan": "shallows.sweeps.planning",
    "report": "shallows.reports.found",
    "reproduce": "shallows.reproduction.reproducing",
    "run": "shallows.runs.running",
    "run_testbed": "shallows.runs.measuring",
    "sweep": "shallows.sweeps.sweeps",
}


if not TYPE_CHECKING:  # the imports above give a type checker all names
    # Modules are imported on first use of their names, so that `shallows --help` does not load the engine.
    __getattr__ = names_of("shallows", _HOMES)


def __dir__() -> list[str]:
    # For tab completion: all public names, including those that are not imported yet.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
