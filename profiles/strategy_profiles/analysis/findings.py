"""Why is it slow? Each finding is one sentence with its cost, its evidence, and what to try.

A finding comes from a rule (`advice`), a function of the facts of a segment. Its cost is a part of
the rows of the account that its rule names, and no two findings have the same milliseconds. The
order is by cost, the largest first; the first finding is the headline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from strategy_profiles.analysis.account.account import Account
from strategy_profiles.analysis.advice.changed_line import changed_line
from strategy_profiles.analysis.advice.registry import every_rule
from strategy_profiles.analysis.facts import Facts, Finding, Gain, gather_facts

REMEDIES = {
    "input-bound": (
        "Prepare batches ahead in other processes: DataLoader(num_workers=..., "
        "prefetch_factor=..., pin_memory=True), or do less for each example."
    ),
    "idle": (
        "Open a captured step on the Timeline page and look at the ops before and after the gap, "
        "and at the host's threads meanwhile. If they launch kernels all the time, launch fewer "
        "and larger ones (torch.compile, CUDA graphs)."
    ),
    "many-small-collectives": (
        "Reduce larger tensors at a time: raise bucket_cap_mb of DistributedDataParallel, or give "
        "each step more work."
    ),
    "small-ops": "Launch fewer and larger kernels: torch.compile, CUDA graphs, or a larger batch.",
}


__all__ = ["Facts", "Finding", "findings", "gather_facts", "main_finding"]

UNSTEADY = "unsteady"
ASIDE = ("costly-capture", UNSTEADY)
"""Findings that do not say why a usual step takes as long as it does: they come last."""
NO_FURTHER_STEP = "no-further-step"
WRONG = (
    "failure",
    NO_FURTHER_STEP,
    "shared-collective-key",
    "xla-across-devices",
    "variables-in-first-step",
    "loss-lost",
    "memory-growth",
)
"""Findings that say that the run itself is of no use; they come first."""
STRUCTURAL = ("replicas-in-turns", "workers-in-turns", "whole-batch")
"""Findings on how the program hands work to replicas or workers: other costs follow from it."""
STRAGGLER = "straggler"
"""The finding on replicas that are later than the others."""
GENERAL = ("communication-exposed", "idle", "not-captured", "tiny-batch", "waiting-for-workers")
"""Findings on a phase as a whole."""
ONCE = ("tracing", "before-training")
"""Findings on the first step and on what comes before it: a longer run does not repeat them."""
INPUT = "input-bound"
BESIDE_INPUT = ("dispatch", "short-steps", "tiny-batch", "computation")
"""Findings on what runs while the pipeline makes the next batch."""
SMALL_BATCH, SINGLE = "tiny-batch", 1
LEFT_OVER = "computation"
"""The finding on what is left if no remedy gains much."""
MOST, LONG_ONCE_MS = 0.5, 6000.0
"""Least share of the loop, and length, for the first step to be the headline; of the program
without its imports, for what comes before. A longer run has a smaller share of it, and most models
take seconds to be traced."""
LONG_ENOUGH = 0.25
"""Least share of the loop for a first step that can be mended: it mostly waits for its batch, or
traces an unrolled loop."""
WORTH_SAYING = 0.1
"""Least share of the usual loop that a finding must explain to be named in a headline."""
_TOLD_BY_OTHERS = 0.1
"""A finding of whose time less than this part is left is not said a second time."""
_TOO_SMALL = 3
"""Tier of the findings that are no headline."""
Predict = Callable[[Finding], Gain | str]
"""What a step would gain without a finding; a sentence if that is not known."""
Claim = tuple[tuple[str, ...], Finding]
"""A finding with the rows of the account that its cost is a part of."""


def findings(facts: Facts, predict: Predict | None = None) -> tuple[Finding, ...]:
    """What is wrong with this segment, then what costs time, the largest cost first.

    Args:
      predict: adds to each finding what a step would gain without it.
    """
    claims = [(rule.rows, item) for rule in every_rule() for item in rule.findings(facts)]
    results = ranked(within_rows(facts.account, claims))
    if facts.framework == "PyTorch":
        results = tuple(
            replace(item, advice=REMEDIES.get(item.key, item.advice)) for item in results
        )
    results = tuple(replace(item, change=changed_line(facts, item)) for item in results)
    return tuple(_with_gain(item, predict(item)) for item in results) if predict else results


def _with_gain(item: Finding, gain: Gain | str) -> Finding:
    if isinstance(gain, str):
        return replace(item, why_no_gain=gain)
    return replace(item, gain=gain)


def within_rows(account: Account, claims: Sequence[Claim]) -> list[Finding]:
    """Limit each cost to what its rows have left, the largest cost first.

    So two findings never have the same time, and none has more than the account knows of.
    """
    left = {row.row: row.total_ms for row in account.rows if row.row.count("/") == 2}
    ordered = sorted(claims, key=lambda claim: (_turn(claim[1].key), _order(claim[1])))
    limited = [_limited(account, left, rows, item) for rows, item in ordered]
    return [item for item in limited if item is not None]


def _limited(
    account: Account, left: dict[str, float], rows: tuple[str, ...], item: Finding
) -> Finding | None:
    """The finding with the cost that is left for it; None if others have told nearly all of it:
    their remedies gain that time, and a recording of the changed program shows what then remains.

    It takes the time of the rule's first rows before that of the next.
    """
    if item.cost is None:
        return item
    claimed_ms = item.cost.ms * account.num_steps
    is_known, taken_ms = False, 0.0
    for row in rows:
        # `loop/between/callback:Heavy` is one of the rows `loop/between/callback`.
        own = [path for path in left if path == row or path.startswith((f"{row}/", f"{row}:"))]
        available_ms = sum(left[path] for path in own)
        is_known |= bool(own)
        if available_ms:
            part_ms = min(claimed_ms - taken_ms, available_ms)
            taken_ms += part_ms
            for path in own:
                left[path] -= part_ms * left[path] / available_ms
    if not is_known or taken_ms >= claimed_ms:
        return item
    if taken_ms < _TOLD_BY_OTHERS * claimed_ms and item.caused_by is None:
        return None
    return replace(item, cost=item.cost.times(taken_ms / claimed_ms))


def _turn(key: str) -> int:
    """When a finding takes its time out of the account: what the program does wrong as a whole
    comes before what follows from it, a late replica before the collectives that wait for it, what
    is said of a phase as a whole after its causes, then the computation that is left, and last that
    steps vary, which a cause mostly explains."""
    if key in (*STRUCTURAL, STRAGGLER):
        return 0
    if key in (LEFT_OVER, UNSTEADY):
        return 3 if key == LEFT_OVER else 4
    return 2 if key in GENERAL else 1


def _order(item: Finding) -> float:
    return 1.0 if item.cost is None else -item.cost.share


def ranked(unordered: Sequence[Finding]) -> tuple[Finding, ...]:
    """Sort: what is wrong with the run itself, what is worth saying by cost, the computation that
    is left, then the others by cost, unknown cost last.

    A finding that follows from another one comes after it, whatever they cost. So does what runs
    beside a pipeline whose batch each step waits for: with less of it, steps wait for longer. A
    `fit` with 42 % Python and 25 % waiting took as long with eight steps in one call, and three
    quarters of the time where the pipeline did less.
    """
    paces = [_rank(item) for item in unordered if _sets_pace(item)]
    costs: dict[tuple[int, str], float] = {}
    for item in unordered:
        key = item.segment, item.key
        costs[key] = max(_rank(item), costs.get(key, -math.inf))

    def order(item: Finding) -> tuple[int, float, bool]:
        cause = costs.get((item.segment, item.caused_by or ""), -math.inf)
        rank, is_beside = _rank(item), item.key in BESIDE_INPUT and bool(paces)
        rank = min(rank, *paces) if is_beside else max(rank, cause)
        return _tier(item), -rank, is_beside or item.caused_by is not None

    return tuple(sorted(unordered, key=order))


def _tier(item: Finding) -> int:
    if item.key in WRONG and item.caused_by is None:
        return 0
    if is_worth_saying(item):
        return 1
    return 2 if item.key == LEFT_OVER else _TOO_SMALL


def _sets_pace(item: Finding) -> bool:
    """Whether it says that steps wait for a pipeline that works beside them."""
    return item.key == INPUT and bool(item.evidence.get("is_beside")) and is_worth_saying(item)


def _is_small_batch(item: Finding) -> bool:
    """Whether it says that a batch of several examples is small."""
    return item.key == SMALL_BATCH and item.evidence.get("examples_per_replica", math.inf) > SINGLE


def _rank(item: Finding) -> float:
    """Share of the loop, or how many times the loop; half of it for what happens once, for the ops
    of layers that are trained, of which only one type counts, for a small batch, and for what
    varies by chance: the program is there for these ops, another batch trains another model, and to
    free an iterator takes twice as long in one run as in another, while another finding of that
    size can be mended."""
    if item.cost is None or item.key in ASIDE or _is_usual_first_step(item):
        return -1.0
    share: float = item.evidence.get("of_loop", item.cost.share) * item.evidence.get("part", 1.0)
    is_half = _is_once(item) or _is_small_batch(item) or bool(item.evidence.get("by_chance"))
    is_half |= item.key == LEFT_OVER and bool(item.evidence.get("trains"))
    return share / 2 if is_half else share


def _is_usual_first_step(item: Finding) -> bool:
    """Whether it says of a first step only that more steps make its share smaller."""
    is_kept = bool(item.evidence.get("can_be_mended") or item.evidence.get("comes_back"))
    is_short = item.evidence.get("once_ms", 0.0) < LONG_ONCE_MS
    return item.key == ONCE[0] and is_short and not is_kept


def _is_once(item: Finding) -> bool:
    """Whether it is about what happens once, and not for each of several models."""
    return item.key in ONCE and not item.evidence.get("comes_back")


def is_worth_saying(item: Finding) -> bool:
    """Whether it explains so much of the loop that it may be the headline."""
    if item.cost is None or item.key in ASIDE:
        return False
    if _is_once(item):
        if item.evidence.get("can_be_mended"):
            return item.cost.share >= LONG_ENOUGH
        is_long = item.evidence.get("once_ms", 0.0) >= LONG_ONCE_MS
        share: float = item.evidence.get("once_share", item.cost.share)
        return is_long and share >= MOST
    return item.cost.share_of_usual >= WORTH_SAYING


def main_finding(facts: Facts) -> Finding | None:
    """Return the first finding; None if it is too small to be the headline."""
    ordered = findings(facts)
    return ordered[0] if ordered and _tier(ordered[0]) < _TOO_SMALL else None
