"""All findings about a configuration."""

from collections.abc import Sequence

from shallows.advisor import findings_of_fields, findings_of_marking, findings_of_memory
from shallows.advisor.finding import SEVERITIES, Finding, Rule
from shallows.advisor.resolved import Resolved

RULES: Sequence[Rule] = (*findings_of_marking.RULES, *findings_of_memory.RULES, *findings_of_fields.RULES)


def find(resolved: Resolved) -> tuple[Finding, ...]:
    """Return all distinct findings, gravest first; equally grave ones keep the order of the rules."""
    found = dict.fromkeys(finding for rule in RULES for finding in rule(resolved))
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))
