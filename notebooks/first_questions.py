"""Tutorial: the effect of a marking threshold on the slowest response of an incast.

`python notebooks/first_questions.py` prints the results and writes a figure into runs/first-questions.
`marimo edit notebooks/first_questions.py` opens it as a notebook with text.
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

        Forty servers answer each of twenty requests at the same moment. Two long flows keep the port to the
        client busy. The scenario is part of the package. Its switch marks packets above 65 KB of backlog.
        """
    )
    return mo, sh


@app.cell
def _(sh):
    low = sh.run(sh.example("incast"), out="runs/first-questions/low")
    times = low.summary["fct_us"]["all"]
    print(f"With marks above 65 KB, {times['count']} answers take {times['mean']:.0f} µs on average,")
    print(f"{times['p95']:.0f} µs at the 95th percentile, and {times['max']:.0f} µs at most.")
    return (low,)


@app.cell
def _(mo):
    mo.md("""
    Now run the same flows at the same times with a threshold that is never reached. The second argument
    sets keys, as `--set` does. The run warns about a marker that never marked.
    """)
    return


@app.cell
def _(sh):
    never = sh.run(sh.example("incast"), {"switch.markers.0.k": "2MB"}, out="runs/first-questions/never")
    for warning in never.summary["warnings"]:
        print("Warning without marks:", warning)
    return (never,)


@app.cell
def _(low, never):
    slowest = {run.path.name: run.flows["fct_us"].max() for run in (low, never)}
    ratio = slowest["never"] / slowest["low"]
    lost = {run.path.name: run.summary["packets"]["dropped_in_switches"] for run in (low, never)}
    print(f"The slowest response takes {slowest['never']:.0f} µs without marks, {ratio:.1f} times as long.")
    print(f"The switch loses {lost['never']} packets instead of {lost['low']}.")
    return ratio, slowest


@app.cell
def _(mo):
    mo.md("""
    `run.flows` is a polars frame with one row per flow. Are all answers slow, or a few?
    """)
    return


@app.cell
def _(never):
    answers = never.flows.sort("fct_us", descending=True, nulls_last=True)
    slowest_answers = answers.head(10).select("flow", "source", "size_bytes", "fct_us", "timeouts")
    print("The slowest responses without marks:", slowest_answers, sep="\n")
    return


@app.cell
def _(mo):
    mo.md("""
    One call draws a figure: the distribution of completion times.
    """)
    return


@app.cell
def _(low, never, sh):
    figure = sh.figures.fct_cdf([low, never])
    files = sh.figures.save(figure, low.path.with_name("fct"))
    print("Figure of both distributions:", *files)
    figure
    return files, figure


if __name__ == "__main__":
    app.run()
