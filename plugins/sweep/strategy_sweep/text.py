"""A sweep in sentences: the same for the page and the command line."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_profiles.reporting import units
from strategy_sweep.contest import Ratio, seconds_left
from strategy_sweep.record import LeftOut
from strategy_sweep.results import Estimate, Result, Results

_NAMED = 3


def headline(results: Results) -> str:
    """The answer, with its interval and the configurations that may be equally fast."""
    winner, num = results.winner, len(results.table)
    if winner is None or winner.examples_per_second_at_median is None:
        if results.now.next_run is None:
            return f"No configuration could be measured: all {num} failed."
        return "Nothing is measured yet."
    rate = interval_text(winner.examples_per_second_at_median)
    among = f"{_rank(results)} of {_configurations(results)}"
    text = f"{among}{_too_few_rounds(results)}: {winner.label}, {rate} examples/s"
    if winner.index == results.sweep.reference:
        text += f", which is the default{_next(results)}"
    elif winner.of_reference is not None:
        text += f", {ratio_text(winner.of_reference)} the default ({results.reference.label})"
    return f"{text}{_not_told_apart(results)}."


def ratio_text(ratio: Ratio) -> str:
    """`1.31 times (1.24 to 1.39)`."""
    middle, low, high = map(_factor, (ratio.middle, ratio.low, ratio.high))
    return f"{middle} times ({low} to {high})"


def _factor(value: float) -> str:
    """A few runs that differ much have intervals up to thousands of times."""
    return f"{value:.2f}" if value < 100 else units.number(value)


def interval_text(estimate: Estimate | None) -> str:
    """`41.2 (40.1 to 42.3)`; without an interval the value alone."""
    if estimate is None:
        return units.MISSING
    if estimate.low is None or estimate.high is None:
        return units.number(estimate.middle)
    ends = " to ".join(map(units.number, (estimate.low, estimate.high)))
    return f"{units.number(estimate.middle)} ({ends})"


def what_was_done(results: Results) -> str:
    """How many runs were made, why the sweep ended, and what the intervals are."""
    sweep, now = results.sweep, results.now
    if not sweep.runs:
        return "No run is done."
    num_rounds = max((run.round for run in sweep.runs), default=0)
    text = (
        f"{units.counted(len(sweep.runs), 'run')} in {units.counted(num_rounds, 'round')}, "
        f"{units.seconds(sweep.seconds)}"
    )
    text += f"; ended because {now.ended}." if now.next_run is None else "; not complete."
    if now.level is None:
        text += " Leaders are compared from the third round."
    else:
        text += (
            f" Leaders are compared over runs of the same rounds; each interval has a level of "
            f"{100 * now.level:.2f} %, so that all of them together hold with 95 %."
        )
    return text


def verified_text(results: Results) -> str:
    """Whether predictions left out the right configurations; empty if that was not checked."""
    sweep, winner = results.sweep, results.winner
    if not sweep.verified or winner is None or winner.examples_per_second_at_median is None:
        return ""
    parts, num_right = [], 0
    for run in sweep.verified:
        label = sweep.configurations[run.configuration].label
        if run.examples_per_second_at_median is None:
            parts.append(f"{label} failed: {run.failure}")
            continue
        times = run.examples_per_second_at_median / winner.examples_per_second_at_median.middle
        num_right += times < 1
        parts.append(f"{label} has {times:.2f} times the throughput of the fastest")
    slower = (
        "was slower in a run of its own" if num_right == 1 else "were slower in runs of their own"
    )
    return (
        f"Of {units.counted(len(sweep.verified), 'configuration')} that predictions left out, "
        f"{num_right} {slower}: {units.listed(parts)}."
    )


def time_left(results: Results) -> str:
    """`2 min to 4 min left`; empty before the first run and after the last."""
    known = seconds_left(results.sweep, results.now)
    if known is None or results.now.next_run is None:
        return ""
    least, most = known
    if most - least < 5:
        return f"about {_whole_seconds(most)} left"
    return f"{_whole_seconds(least)} to {_whole_seconds(most)} left"


def _whole_seconds(value_s: float) -> str:
    """No estimate is known to a tenth of a second."""
    return f"{value_s:.0f} s" if value_s < 59.5 else units.seconds(value_s)


def why_text(item: Result) -> str:
    """A configuration's place in words, for a table; without the full stop of an error."""
    return item.why.rstrip(".") or item.state


def by_reason(left_out: Sequence[LeftOut]) -> dict[str, list[str]]:
    """The labels of the combinations that one reason leaves out, in the order of the sweep."""
    labels: dict[str, list[str]] = {}
    for item in left_out:
        labels.setdefault(item.reason, []).append(item.label)
    return labels


def _rank(results: Results) -> str:
    if results.now.next_run is not None:
        return "Fastest so far"
    return "Fastest" if results.rivals or _is_undecided(results) else "Best"


def _configurations(results: Results) -> str:
    """`5 configurations`, or `2 of 5 configurations` while some have no run yet."""
    num, left = len(results.table), sum(item.state == "not run" for item in results.table)
    some = f"{num - left} of " if left else ""
    return f"{some}{units.counted(num, 'configuration')}"


def _too_few_rounds(results: Results) -> str:
    """` in 2 rounds, too few to compare them`; empty if they can be compared."""
    if not _is_undecided(results):
        return ""
    num_rounds = max(run.round for run in results.sweep.runs)
    return f" in {units.counted(num_rounds, 'round')}, too few to compare them"


def _is_undecided(results: Results) -> bool:
    """Whether the sweep is over, and its leaders were never compared."""
    return results.now.next_run is None and results.now.level is None and len(results.now.left) > 1


def _next(results: Results) -> str:
    """How fast the next configuration is, if the default is the fastest."""
    slower = next((item for item in results.table if item.state == "slower"), None)
    if slower is None or slower.of_reference is None or results.rivals:
        return ""
    return f"; {slower.label} has {ratio_text(slower.of_reference)} its throughput"


def _not_told_apart(results: Results) -> str:
    rivals = [item.label for item in results.rivals]
    if not rivals:
        return ""
    more = len(rivals) - _NAMED
    named = [*rivals[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    return f"; not distinguishable from {units.listed(named)}"
