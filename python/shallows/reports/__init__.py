"""Reports: a self-contained HTML file about a run, a sweep or a reproduced paper.

`found` detects the kind of a folder. `of_run`, `of_sweep` and `of_reproduction` choose the contents, and
`page` renders them. ECharts draws charts in the browser, from a limited number of points chosen by `chart`.
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
    # Import on first use: the page of a run needs no modules of sweeps and papers.
    __getattr__ = names_of("shallows.reports", _HOMES)
