"""Reports: one HTML file that needs nothing else, of a run, a sweep, or a paper that was reproduced.

`found` says what a folder holds, `of_run`, `of_sweep` and `of_reproduction` what is said of it, `page` writes
that down. Charts are drawn in the browser by ECharts, from few numbers that `chart` has chosen.
"""

from typing import TYPE_CHECKING

from shallows.late import names_of

if TYPE_CHECKING:
    from shallows.reports.found import holds_claims, write
    from shallows.reports.of_reproduction import write_reproduction
    from shallows.reports.of_run import write_run
    from shallows.reports.of_sweep import write_sweep

__all__ = ["holds_claims", "write", "write_reproduction", "write_run", "write_sweep"]

_HOMES = {
    "holds_claims": "shallows.reports.found",
    "write": "shallows.reports.found",
    "write_reproduction": "shallows.reports.of_reproduction",
    "write_run": "shallows.reports.of_run",
    "write_sweep": "shallows.reports.of_sweep",
}

if not TYPE_CHECKING:
    # A run writes its page without what those of sweeps and papers need.
    __getattr__ = names_of("shallows.reports", _HOMES)
