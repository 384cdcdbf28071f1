"""The finished sweep of `as-made.toml` beside the numbers behind BCC's Fig. 2, as a Markdown table.

Usage: python experiments/bcc-f2/compare.py FOLDER

FOLDER is what `shallows sweep experiments/bcc-f2/as-made.toml --out FOLDER` wrote. Ours are means over the
seeds.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

# The authors' plot data (FCT in us, loss in %): load -> all, small mean, small p99, large mean, loss,
# timeouts.
PAPER = {
    "K720": {
        40: (521, 94, 152, 4270, 0.0004, 2),
        50: (576, 97, 159, 4886, 0.0008, 11),
        60: (655, 103, 165, 5726, 0.0046, 70),
        70: (783, 114, 170, 7166, 0.0181, 251),
        80: (1086, 166, 5089, 10630, 0.0894, 1697),
        90: (2030, 341, 5380, 21180, 0.3391, 10390),
    },
    "K200": {
        40: (554, 91, 117, 4679, 0.0, 0),
        50: (611, 93, 122, 5385, 0.0002, 3),
        60: (688, 94, 126, 6357, 0.0003, 9),
        70: (810, 96, 130, 7993, 0.0003, 9),
        80: (1056, 99, 134, 11555, 0.0003, 11),
        90: (1752, 103, 139, 21868, 0.0006, 22),
    },
}
NAMES = ("all", "small", "small p99", "large", "loss %", "timeouts")


def read(folder: Path) -> dict[tuple[str, int], list[tuple[float, ...]]]:
    """Scheme and load -> a tuple per seed: the columns of `NAMES`, then the loss ratio in percent."""
    points: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    for path in sorted(folder.glob("*/summary.json")):
        summary = json.loads(path.read_text())
        scenario = json.loads((path.parent / "resolved.json").read_text())
        scheme = "K720" if scenario["switch"]["markers"][0]["k"] == "720KB" else "K200"
        fct = summary["fct_us"]
        row = (
            fct["all"]["mean"],
            fct["small"]["mean"],
            fct["small"]["p99"],
            fct["large"]["mean"],
            100 * summary["loss_rate_mean_over_ports"],
            float(summary["timeouts"]),
            100 * summary["loss_rate"],
        )
        points.setdefault((scheme, round(100 * scenario["workload"][0]["load"])), []).append(row)
    return points


def main() -> int:
    """Print the table."""
    if len(sys.argv) != 2:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    points = read(Path(sys.argv[1]))
    print(f"| scheme | load % | {' | '.join(NAMES)} | loss %, ratio | seeds |")
    print("|---" * (len(NAMES) + 4) + "|")
    for scheme, loads in PAPER.items():
        for load, paper in loads.items():
            runs = points.get((scheme, load), [])
            if not runs:
                continue
            ours = [statistics.fmean(values) for values in zip(*runs, strict=True)]
            cells = []
            for name, theirs, value in zip(NAMES, paper, ours, strict=False):
                if name == "loss %":
                    cells.append(f"{theirs:.4f} / {value:.4f}")
                elif name == "timeouts":
                    cells.append(f"{theirs} / {value:.0f}")
                else:
                    cells.append(f"{theirs} / {value:.0f} ({100 * (value / theirs - 1):+.0f} %)")
            print(f"| {scheme} | {load} | {' | '.join(cells)} | {ours[-1]:.4f} | {len(runs)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
