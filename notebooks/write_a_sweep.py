"""A sweep, written from nothing: two schemes, two loads, two seeds, one figure.

Open it with `marimo edit notebooks/write_a_sweep.py`, or run it as a script.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import json
    import pathlib
    import subprocess
    import sys

    import marimo as mo

    import shallows as sh

    mo.md(
        """
        # Write a sweep

        A scenario is a TOML file: a topology, switches, traffic. Its `[sweep]` table says what to vary; every
        scheme meets every combination of the axes.
        """
    )
    return json, mo, pathlib, sh, subprocess, sys


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
    `shallows sweep` runs each point in a process of its own, on all cores, and keeps what is finished: the
    same command goes on after an interruption.
    """)
    return


@app.cell
def _(json, scenario, sh, subprocess, sys):
    folder = scenario.parent / "points"
    subprocess.run([sys.executable, "-m", "shallows.cli", "sweep", scenario, "--out", folder], check=True)
    points = json.loads((folder / "sweep.json").read_text())["points"]
    runs = [sh.Run(folder / point["folder"]) for point in points]
    return (runs,)


@app.cell
def _(mo, runs):
    mo.ui.table(
        [
            run.labels
            | {
                "small p99 µs": run.summary["fct_us"]["small"]["p99"],
                "large mean µs": run.summary["fct_us"]["large"]["mean"],
                "timeouts": run.summary["timeouts"],
            }
            for run in runs
        ]
    )
    return


@app.cell
def _(runs, sh):
    figure = sh.figures.fct(runs)  # seeds are one point, with a bar from the lowest to the highest
    figure
    return (figure,)


@app.cell
def _(figure, scenario, sh):
    files = sh.figures.save(figure, scenario.with_name("fct"))
    return (files,)


if __name__ == "__main__":
    app.run()
