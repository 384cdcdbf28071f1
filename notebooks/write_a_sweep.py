"""Tutorial: write and run a sweep with two schemes, two loads and two seeds, and draw a figure.

`python notebooks/write_a_sweep.py` prints a table and writes a figure into runs/write-a-sweep.
`marimo edit notebooks/write_a_sweep.py` opens it as a notebook with text.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import pathlib

    import marimo as mo

    import shallows as sh

    mo.md(
        """
        # Write a sweep

        A scenario is a TOML file with a topology, switches and traffic. Its `[sweep]` table lists what to
        vary. Every scheme runs at every combination of the axes.
        """
    )
    return mo, pathlib, sh


@app.cell
def _(pathlib):
    scenario = pathlib.Path("runs/write-a-sweep/thresholds.toml")
    scenario.parent.mkdir(parents=True, exist_ok=True)
    scenario.write_text("""
    [topology]
    kind = "star"
    hosts = 5
    rate = "10Gbps"
    link_delay = "10us"

    [switch]
    buffer = { kind = "dynamic-threshold", alpha = 1, pool = "1MB" }
    markers = [{ kind = "threshold", k = "65KB" }]

    [tcp]
    rto = { initial = "5ms", min = "5ms" }

    [[workload]]
    kind = "poisson"
    load = 0.5
    sizes = "web-search"
    flows = 300
    senders = "1..5"
    receivers = 0

    [sweep]
    axes = { "workload.0.load" = [0.3, 0.7], seed = [1, 2] }

    [[sweep.scheme]]
    name = "K = 65 KB"
    set = { "switch.markers.0.k" = "65KB" }

    [[sweep.scheme]]
    name = "no marks"
    set = { "switch.markers" = [], "tcp.congestion" = "reno" }
    """)
    return (scenario,)


@app.cell
def _(mo):
    mo.md("""
    `sh.sweep` works like `shallows sweep`: it runs each point in its own process, on all cores, and keeps
    finished points. After an interruption, call it again to resume.
    """)
    return


@app.cell
def _(scenario, sh):
    sweep = sh.sweep(scenario, out=scenario.parent / "points")
    print(sweep)
    return (sweep,)


@app.cell
def _(mo):
    mo.md("""
    `sweep.table` is a polars frame with one row per run. Small flows have up to 100 KB, large flows more
    than 10 MB.
    """)
    return


@app.cell
def _(sweep):
    results = sweep.table.rename({"workload.0.load": "load"}).select(
        "scheme", "load", "seed", "small_fct_p99_us", "large_fct_mean_us", "timeouts"
    )
    print(results)
    return (results,)


@app.cell
def _(scenario, sh, sweep):
    figure = sh.figures.fct(sweep.runs)  # the mean over all seeds is one point
    files = sh.figures.save(figure, scenario.with_name("fct"))
    print("Completion times against load:", *files)
    figure
    return figure, files


if __name__ == "__main__":
    app.run()
