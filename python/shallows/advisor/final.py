"""The end of a race: those who may still be better than the best by more than 3 % run until that is known.

A race ends when its looks drop nobody any more. By then a trade-off is drawn, but of those who are close in
the goals a few seeds cannot tell which is best. So the best by estimates goes on, with those alone of whom
intervals do not say that they are not better by more than what counts as none.
"""

import time

from shallows.advisor.race import OnRound, Progress, Race
from shallows.advisor.recommendation import contenders

GROWTH = 4
"""One in so many seeds is added between two looks: few looks leave each more of the error."""

RESOLVED = "nobody is left who may be better than the best by more than what counts as none"


def run_to_end(race: Race, budget_s: float, on_round: OnRound, most_rounds: int = 64) -> None:
    """Run a race and its end, until the best is known, the budget is spent or there were so many seeds.

    Raises
    ------
    ShallowsError
        As `Race.run`.
    """
    start = time.monotonic()
    race.run(budget_s, on_round, most_rounds)
    if not race.is_stable:
        return
    while names := contenders(race):
        began = time.monotonic()
        count = min(max(1, race.rounds // GROWTH), most_rounds - race.rounds)
        if count < 1:
            race.ended = f"{most_rounds} seeds are the most"
            break
        progress = Progress(race.rounds + count, len(names), len(race.candidates), budget_s + start - began)
        race.go_on(names, count, progress, on_round)
        now = time.monotonic()
        if now - start + (now - began) > budget_s:
            race.ended = "the budget is spent"
            break
    else:
        race.ended = RESOLVED
    race.write()
