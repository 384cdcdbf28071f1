"""End of a race of settings: more seeds for the best setting and for rivals that may be over 3 % better.

A race is stable when its looks (comparisons of all remaining candidates) drop no more candidates. Its few
seeds show the trade-off, but do not rank candidates that are close in the goals. Therefore the candidate
with the best estimates gets more seeds, and so do rivals that may beat it by more than the indifference zone.
"""

import time

from shallows.advisor.race import OnRound, Progress, Race
from shallows.advisor.recommendation import contenders

GROWTH = 4
"""From one look (a comparison of all candidates) to the next, the number of seeds grows by 1/GROWTH, and by
at least one. Later looks may use a smaller share of the error probability, so few looks are better.
"""

RESOLVED = "nobody is left who may be better than the best by more than what counts as none"
"""Text of `Race.ended` after `contenders` has returned no settings."""


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
