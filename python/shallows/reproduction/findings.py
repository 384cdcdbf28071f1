"""What became of the claims of a paper, and the points of its experiments."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.quantity import digits, signed, size
from shallows.reproduction import judging
from shallows.reproduction.expected import Claim, Experiment, Paper
from shallows.reproduction.judging import HOLDS, Check, Measured
from shallows.runs.results import place_on
from shallows.runs.running import Source, override_texts
from shallows.sweeps.points import Point, plan


@dataclass(frozen=True)
class Finding:
    """What became of a claim."""

    claim: Claim
    checks: Sequence[Check]

    @property
    def verdict(self) -> str:
        """The worst of all places."""
        return judging.worst(self.checks)

    def describe(self) -> dict[str, Any]:
        """For `--json`."""
        claim = self.claim
        described = {"id": claim.id, "source": claim.source, "kind": claim.kind, "metric": claim.metric}
        described |= {"experiment": claim.experiment, "cause": claim.cause, "verdict": self.verdict}
        checks = [
            check.describe() | {"shown": {"ours": number(claim, check), "interval": _span(claim, check)}}
            for check in self.checks
        ]
        return described | {"checks": checks}


def points_of(experiment: Experiment, parent: Path, *, quick: bool) -> list[Point]:
    """The points of its sweep; of the reduced one, if it is quick."""
    changes = {**experiment.set, **(experiment.quick.set if quick else {})}
    source = replace(Source.read(experiment.scenario, override_texts(changes)), dilation=experiment.testbed)
    _, points = plan(source, parent / experiment.name)
    only = [*experiment.only.items(), *(experiment.quick.only.items() if quick else ())]
    return [p for p in points if all(place_on(p.source.labels, axis) in values for axis, values in only)]


def check_selections(paper: Paper, experiment: Experiment, points: Sequence[Point], *, quick: bool) -> None:
    """Refuse claims about runs that there will not be, before any of them takes its time."""
    labelled = [Measured(point.source.labels, lambda _: 1.0) for point in points]
    for claim in paper.claims_of(experiment, quick=quick):
        judging.judge(claim, experiment, labelled, quick=quick)


def document_of(paper: Paper, findings: Sequence[Finding], *, quick: bool) -> dict[str, Any]:
    """All of them, for `--json`."""
    holding = sum(finding.verdict == HOLDS for finding in findings)
    described = [finding.describe() for finding in findings]
    return {"paper": paper.title, "quick": quick, "holding": holding, "claims": described}


def number(claim: Claim, check: Check) -> str:
    """What was measured, as its claim writes it."""
    if not math.isfinite(check.ours):
        return "never" if claim.kind == "crossing" else "∞"
    if isinstance(claim.expected, str) and claim.expected.endswith("B"):
        return size(check.ours)
    if claim.in_percent:
        return f"{signed(100 * check.ours)} %"
    by_sign = claim.kind == "ordering" or claim.change == "difference"
    return signed(check.ours) if by_sign else digits(check.ours)


def markdown(findings: Sequence[Finding], paper: Paper) -> str:
    """Every claim at every place, as a table for documents, and what was run for it."""
    lines = ["| claim | source | at | paper | ours | 95 % | verdict |", "|---|---|---|---|---|---|---|"]
    for finding in findings:
        for check in finding.checks:
            cells = [finding.claim.id, finding.claim.source, judging.name(check.place), check.paper]
            cells += [number(finding.claim, check), _span(finding.claim, check)]
            lines.append(f"| {' | '.join(cells)} | {check.verdict} |")
    return "\n".join([*lines, "", made_from(paper, {finding.claim.experiment for finding in findings})])


def made_from(paper: Paper, names: Set[str]) -> str:
    """A line that says which experiments results are of, and is another once they are."""
    told = [f"{name} {each.fingerprint}" for name, each in paper.experiments.items() if name in names]
    return f"Made from: {', '.join(told)}\n"


def _span(claim: Claim, check: Check) -> str:
    """Both ends of what was measured; nothing if they are the same."""
    ends = [number(claim, replace(check, ours=end)) for end in (check.low, check.high)]
    return "" if check.low == check.high else " – ".join(ends)
