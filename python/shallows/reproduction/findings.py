"""Findings: the claims of a paper with their verdicts, and the runs of its experiments."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.quantity import digits, signed, size
from shallows.reproduction import judging
from shallows.reproduction.expected import FILE, Claim, Experiment, Paper
from shallows.reproduction.judging import HOLDS, Check, Measured, Value
from shallows.reproduction.versus import versus
from shallows.runs.results import place_on
from shallows.runs.source import Source
from shallows.runs.table import NOTHING
from shallows.runs.toml_text import override_texts
from shallows.series.measures import check, compute
from shallows.series.offered import Offered
from shallows.sweeps.points import Point, plan


@dataclass(frozen=True)
class Finding:
    """Verdict of a claim."""

    claim: Claim
    checks: Sequence[Check]

    @property
    def verdict(self) -> str:
        """Return the worst verdict of all points of the claim's axis."""
        return judging.worst(self.checks)

    @property
    def seeds(self) -> int:
        """Return the number of seeds behind the verdict: the smallest among the points with this verdict."""
        return min(check.seeds for check in self.checks if check.verdict == self.verdict)

    @property
    def said(self) -> str:
        """Return the verdict, with the number of seeds if these are too few for an interval."""
        return judging.said(self.verdict, self.seeds)

    def describe(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        claim = self.claim
        described: dict[str, Any] = {
            "id": claim.id,
            "source": claim.source,
            "kind": claim.kind,
            "metric": claim.metric,
        }
        described |= {"experiment": claim.experiment, "cause": claim.cause, "verdict": self.verdict}
        described |= {"seeds": self.seeds, "said": self.said}
        checks = [
            check.describe() | {"shown": {"ours": number(claim, check), "interval": _span(claim, check)}}
            for check in self.checks
        ]
        return described | {"checks": checks}


def points_of(experiment: Experiment, parent: Path, *, quick: bool) -> list[Point]:
    """Return the points of an experiment's sweep; with `quick`, the points of the reduced sweep."""
    changes = {**experiment.set, **(experiment.quick.set if quick else {})}
    source = replace(Source.read(experiment.scenario, override_texts(changes)), dilation=experiment.testbed)
    _, points = plan(source, parent / experiment.name)
    only = [*experiment.only.items(), *(experiment.quick.only.items() if quick else ())]
    return [p for p in points if all(place_on(p.source.labels, axis) in values for axis, values in only)]


def check_selections(paper: Paper, experiment: Experiment, points: Sequence[Point], *, quick: bool) -> None:
    """Reject claims about runs or metrics that the experiment lacks.

    Raises
    ------
    ShallowsError
        If a claim selects no run, or names a metric that the runs will not have.
    """
    asked = [Measured(point.source.labels, _asked(experiment, point.source)) for point in points]
    try:
        for claim in paper.claims_of(experiment, quick=quick):
            judging.judge(claim, experiment, asked, quick=quick)
        versus(experiment, [claim for claim in paper.claims if claim.experiment == experiment.name], asked)
    except ShallowsError as error:
        raise ShallowsError(
            f"{paper.folder / FILE}: {experiment.name}: {error.message}", error.remedy
        ) from None


def _asked(experiment: Experiment, source: Source) -> Value:
    """Return a function from a metric's name to its value, for the check of claims before the runs.

    If the experiment has no runs, the function computes the value from the scenario. Otherwise it returns 1,
    and rejects metrics that the runs will not have.
    """
    if not experiment.runs:
        return cache(partial(compute, source))
    offered: list[Offered] = []

    def number(metric: str) -> float:
        if not offered:
            offered.append(Offered.of(source.parse()))
        check(metric, offered[0])
        return 1.0

    return cache(number)


def document_of(paper: Paper, findings: Sequence[Finding], *, quick: bool) -> dict[str, Any]:
    """Return all findings as a JSON object."""
    described = [finding.describe() for finding in findings]
    holding = sum(finding.verdict == HOLDS for finding in findings)
    return {"paper": paper.title, "quick": quick, "holding": holding, "claims": described}


def counted(findings: Sequence[Finding]) -> str:
    """Count the claims that hold, and how many of these were judged from a single seed."""
    holding = [finding for finding in findings if finding.verdict == HOLDS]
    single = sum(finding.seeds == 1 for finding in holding)
    text = f"{len(holding)} of {len(findings)} claims hold"
    return f"{text}, {single} of them judged by one seed" if single else text


def number(claim: Claim, check: Check) -> str:
    """Format the measured number in the notation of its claim."""
    if math.isnan(check.ours):
        return NOTHING
    if not math.isfinite(check.ours):
        return "never" if claim.kind == "crossing" else "∞"
    if isinstance(claim.expected, str) and claim.expected.endswith("B"):
        return size(check.ours)
    if claim.in_percent:
        return f"{signed(100 * check.ours)} %"
    by_sign = claim.kind == "ordering" or claim.change == "difference"
    return signed(check.ours) if by_sign else digits(check.ours)


def markdown(findings: Sequence[Finding], paper: Paper) -> str:
    """Render every claim at every point of its axis as a Markdown table, followed by the experiments used."""
    lines = ["| claim | source | at | paper | ours | 95 % | verdict |", "|---|---|---|---|---|---|---|"]
    for finding in findings:
        for each in finding.checks:
            cells = [finding.claim.id, finding.claim.source, judging.name(each.place), each.paper]
            cells += [number(finding.claim, each), _span(finding.claim, each)]
            lines.append(f"| {' | '.join(cells)} | {each.said} |")
    return "\n".join([*lines, "", made_from(paper, {finding.claim.experiment for finding in findings})])


def made_from(paper: Paper, names: Set[str]) -> str:
    """Return a line that identifies the experiments by their fingerprints."""
    told = [f"{name} {each.fingerprint}" for name, each in paper.experiments.items() if name in names]
    return f"Made from: {', '.join(told)}\n"


def _span(claim: Claim, check: Check) -> str:
    """Format both ends of the measured range; empty if they are equal."""
    ends = [number(claim, replace(check, ours=end)) for end in (check.low, check.high)]
    return "" if check.low == check.high else " – ".join(ends)
