"""Reports: one HTML file that needs nothing else, of a run, a sweep, or a paper that was reproduced.

`found` says what a folder holds, `of_run`, `of_sweep` and `of_reproduction` what is said of it, `page` writes
that down. Charts are drawn in the browser by ECharts, from few numbers that `chart` has chosen.
"""

from shallows.reports.found import holds_claims, write
from shallows.reports.of_reproduction import write_reproduction
from shallows.reports.of_run import write_run
from shallows.reports.of_sweep import write_sweep

__all__ = ["holds_claims", "write", "write_reproduction", "write_run", "write_sweep"]
