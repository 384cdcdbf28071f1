"""Run typical scenarios, from which the compiler learns which code is used most (`make wheel`).

A profile-guided build optimises the code that these runs use, and makes other code smaller and slower.
Therefore, the networks of the benchmarks run, every model of `experiments/models`, and every scheme of
`experiments/rdma/controls.toml`.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shallows as sh

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "benches" / "scenarios"
EXPERIMENTS = ROOT / "experiments"

WEB_SEARCH = {"kind": "poisson", "load": 0.5, "sizes": "web-search", "flows": 500}

Run = tuple[Path, dict[str, Any]]


def runs() -> Iterator[Run]:
    """Yield the scenario and the overrides of each run."""
    yield SCENARIOS / "star.toml", {"stop.at": "100ms"}
    yield SCENARIOS / "leaf-spine.toml", {"workload": [WEB_SEARCH]}
    yield SCENARIOS / "scale.toml", {"workload.0.flows": 10_000}
    yield SCENARIOS / "partition-aggregate.toml", {"workload.0.queries": 5}
    yield EXPERIMENTS / "bcc" / "fig4.toml", {"workload.0.flows": 700}
    mq_ecn = {f"workload.{number}.flows": 150 for number in range(4)}
    yield EXPERIMENTS / "mq-ecn" / "fig9.toml", {**mq_ecn, "switch.markers": [{"kind": "mq-ecn", "k": "65p"}]}
    for model in sorted((EXPERIMENTS / "models").glob("*.toml")):
        yield model, {}
    controls = EXPERIMENTS / "rdma" / "controls.toml"
    for scheme in tomllib.loads(controls.read_text(encoding="utf-8"))["sweep"]["scheme"]:
        yield controls, scheme["set"]


def main() -> None:
    """Run every scenario on one thread and on two."""
    hops = 0
    for number, (scenario, overrides) in enumerate(runs()):
        with tempfile.TemporaryDirectory() as scratch:
            for threads in (1, 2):
                run = sh.run(scenario, overrides, out=Path(scratch) / str(threads), threads=threads)
                hops += run.summary["engine"]["packet_hops"]
        print(f"{number + 1:>3}  {scenario.parent.name}/{scenario.stem}")
    print(f"{hops:,} packet-hops")


if __name__ == "__main__":
    main()
