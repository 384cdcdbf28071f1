"""Page of the Python API: lists the public names; mkdocstrings renders their docstrings."""

GROUPS = {
    "Scenarios and runs": ["Scenario", "run", "example", "Run", "Summary", "Series", "load"],
    "Sweeps": ["sweep", "Sweep", "plan", "Plan", "merge"],
    "Comparisons, figures and reports": ["compare", "Comparison", "figures", "report", "reproduce"],
    "Switches": ["explain", "advise", "export_switch", "chips", "chip"],
    "Other simulators and real TCP": [
        "import_hpcc",
        "import_htsim",
        "export_hpcc",
        "run_testbed",
        "compare_testbed",
    ],
    "Errors": ["ShallowsError", "ScenarioError", "DefectError"],
}
"""Every public name of `shallows`, in the order of the page."""

INTRODUCTION = """\
# Python API

This page is generated from docstrings: `help(sh.run)` prints the same.
[Python](python.md) is an introduction.

Every function that takes a scenario accepts the path of its file or a `Scenario`.
One that takes runs accepts a run, a `Sweep`, the folder of either, or a list of these.
"""


def page(homes: dict[str, str], figures: dict[str, str]) -> str:
    """Return the page in Markdown, with a directive of mkdocstrings for each name.

    Parameters
    ----------
    homes
        Public names of `shallows`, each with the module that defines it.
    figures
        Public names of `shallows.figures`, each with the module that defines it.
    """
    parts = [INTRODUCTION]
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            parts += [_directive(f"sh.{name}", homes[name], name)] if name != "figures" else []
    parts.append("## Figures")
    parts += [
        _directive(f"sh.figures.{name}", home, name) for name, home in figures.items() if name != "STYLE"
    ]
    return "\n\n".join(parts) + "\n"


def _directive(heading: str, module: str, name: str) -> str:
    return f'::: {module}.{name}\n    options:\n      heading: "{heading}"\n      heading_level: 3'
