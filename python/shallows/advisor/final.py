"""End of a race of settings: more seeds for the best setting and for rivals that may be over 3 % better.

A race is stable when its looks (comparisons of all remaining candidates) drop no more candidates. Its few
seeds show the trade-off, but do not rank candidates that are close in the goals. Therefore the candidate
with the best estimates gets more seeds, and so do rivals that may beat it by more than the indifference zone.
"""

import time

from shallows.advisor.race import OnRound, Progress, Race
from shallows.advisor.recommendation import contenders, is_ranked

GROWTH = 4
"""Growth of the number of seeds from one comparison of the candidates to the next: by 1/GROWTH of itself,
rounded down, but at least one seed.
"""

RESOLVED = "no other setting may be better than the best by more than a negligible difference"
"""Reason for the end of a race if intervals exclude a better rival (`contenders`)."""


def run_to_end(race: Race, budget_s: float, on_round: OnRound, most_rounds: int = 64) -> None:
    """Run a race, then more seeds until the best setting is decided, or budget or `most_rounds` is used up.

    Raises
    ------
    ShallowsError
        As for `Race.run`.
    """
    start = time.monotonic()
    race.run(budget_s, on_round, most_rounds)
    if not race.is_stable:
        return
    while names := contenders(race):
        began = time.monotonic()
        count = min(max(1, race.rounds // GROWTH), most_rounds - race.rounds)
        if count < 1:
            race.ended = f"the maximum number of seeds, {most_rounds}, is reached"
            break
        progress = Progress(race.rounds + count, len(names), len(race.candidates), budget_s + start - began)
        race.go_on(names, count, progress, on_round)
        now = time.monotonic()
        if now - start + (now - began) > budget_s:
            race.ended = "the budget is spent"
            break
    else:
        if is_ranked(race):
            race.ended = RESOLVED
    race.write()
