"""A first question, asked and answered: what a marking threshold does to the slowest answer of an incast.

Open it with `marimo edit notebooks/first_questions.py`, or run it as a script.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import shallows as sh

    mo.md(
        """
        # First questions

        Forty servers answer one request at the same moment, through a port that two long flows keep busy.
        The scenario comes with the package; its switch marks packets above 65 KB of backlog.
        """
    )
    return mo, sh


@app.cell
def _(sh):
    low = sh.run(sh.example("incast"), out="runs/first-questions/low")
    low.summary["fct_us"]["all"]
    return (low,)


@app.cell
def _(mo):
    mo.md("""
    Now the same flows at the same times, with a threshold that is never reached: `overrides` are what
    `--set` takes.
    """)
    return


@app.cell
def _(sh):
    never = sh.run(sh.example("incast"), {"switch.markers.0.k": "2MB"}, out="runs/first-questions/never")
    never.summary["warnings"]
    return (never,)


@app.cell
def _(low, mo, never):
    slowest = {run.path.name: run.flows["fct_us"].max() for run in (low, never)}
    ratio = slowest["never"] / slowest["low"]
    lost = {run.path.name: run.summary["packets"]["dropped_in_switches"] for run in (low, never)}
    mo.md(
        f"The slowest answer takes {slowest['low']:.0f} µs with marks and {slowest['never']:.0f} µs without: "
        f"{ratio:.1f} times as long. The switch loses {lost['never']} packets instead of {lost['low']}."
    )
    return ratio, slowest


@app.cell
def _(mo):
    mo.md("""
    A table of flows is a polars frame, and a figure is one line. Which answers are slow: all, or a few?
    """)
    return


@app.cell
def _(low, never, sh):
    figure = sh.figures.fct_cdf([low, never])
    figure
    return (figure,)


if __name__ == "__main__":
    app.run()
