"""A first question, asked and answered: what a marking threshold does to the slowest answer of an incast.

Run it with `python notebooks/first_questions.py`: it prints its answers and writes its figure into
runs/first-questions. Or read it, with its text, beside them: `marimo edit notebooks/first_questions.py`.
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

        Forty servers answer each of twenty requests at the same moment, through a port that two long flows
        keep busy. The scenario comes with the package; its switch marks packets above 65 KB of backlog.
        """
    )
    return mo, sh


@app.cell
def _(sh):
    low = sh.run(sh.example("incast"), out="runs/first-questions/low")
    times = low.summary["fct_us"]["all"]
    print(f"With marks above 65 KB, {times['count']} answers take {times['mean']:.0f} µs in the mean,")
    print(f"99 of 100 at most {times['p99']:.0f} µs, the slowest {times['max']:.0f} µs.")
    return (low,)


@app.cell
def _(mo):
    mo.md("""
    Now the same flows at the same times, with a threshold that is never reached: `overrides` are what
    `--set` takes. A run warns of what never came into play.
    """)
    return


@app.cell
def _(sh):
    never = sh.run(sh.example("incast"), {"switch.markers.0.k": "2MB"}, out="runs/first-questions/never")
    for warning in never.summary["warnings"]:
        print("Without marks, a warning:", warning)
    return (never,)


@app.cell
def _(low, never):
    slowest = {run.path.name: run.flows["fct_us"].max() for run in (low, never)}
    ratio = slowest["never"] / slowest["low"]
    lost = {run.path.name: run.summary["packets"]["dropped_in_switches"] for run in (low, never)}
    print(f"The slowest answer takes {slowest['never']:.0f} µs without marks, {ratio:.1f} times as long.")
    print(f"The switch loses {lost['never']} packets instead of {lost['low']}.")
    return ratio, slowest


@app.cell
def _(mo):
    mo.md("""
    A table of flows is a polars frame. Which answers are slow: all, or a few?
    """)
    return


@app.cell
def _(never):
    answers = never.flows.sort("fct_us", descending=True, nulls_last=True)
    slowest_answers = answers.head(10).select("flow", "source", "size_bytes", "fct_us", "timeouts")
    print("The slowest answers without marks:", slowest_answers, sep="\n")
    return


@app.cell
def _(mo):
    mo.md("""
    A figure is one line: the share of answers that took longer than so many µs.
    """)
    return


@app.cell
def _(low, never, sh):
    figure = sh.figures.fct_cdf([low, never])
    files = sh.figures.save(figure, low.path.with_name("fct"))
    print("Their distributions:", *files)
    figure
    return files, figure


if __name__ == "__main__":
    app.run()
