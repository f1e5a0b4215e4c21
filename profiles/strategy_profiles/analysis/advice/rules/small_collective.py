"""A collective of few bytes takes long.

## What it does

Looks for collectives of at most 64 KiB a call, on average, and fewer than 8 calls a step that take
10 % of the step or more, while a replica runs no op; waiting for a replica that is late is left to
that finding. The lab's own gather of timestamps does not count. If the replicas wait and the lab
injected a delay, it says so; if they wait for threads to run on (`inter-op-threads`), it comes
after that finding. If more replicas than CPU cores wait for no one in particular, they run in turn,
which `shared-cores` says.

## Why is this slow

Its bytes take microseconds: the time is latency, or waiting until the last replica has entered
it.

## What to do

If it is waiting, look at what the replicas do before they enter it. If it is latency, reduce
every few steps, or together with another tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from strategy_profiles.analysis.advice import few_threads
from strategy_profiles.analysis.advice.rules import communication_exposed
from strategy_profiles.analysis.advice.rules.many_small_collectives import MANY_CALLS
from strategy_profiles.analysis.advice.rules.shared_cores import num_sharing
from strategy_profiles.analysis.advice.rules.straggler import injected_sentence
from strategy_profiles.analysis.communication import CollectiveUse
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.run.injected_delay import injected_delays

KEY = "small-collective"
ROWS = ("loop/steps/wait", "loop/steps/transfer")
LATENCY_BYTES = 65_536
"""A call that moves less costs latency and waiting: over 1 Gbit/s, its bytes take 0.5 ms."""

BY_TURNS = "The replicas run one after the other, on fewer threads than they are: see that finding."
WAITING = "Which ops make the replicas enter this collective late is not known."
LATENCY_SHARE = 0.1
"""Least share of a step of such calls."""


def find(facts: Facts) -> Iterator[Finding]:
    """Collectives of few bytes that take long: replicas enter them late, or each call is slow."""
    if facts.lacks_ranks:
        return  # whether it waits for a rank that was not recorded is not known
    if communication_exposed.gathered_ms(facts) is not None:
        return  # it may wait for a gather
    wall = facts.breakdown.mean_ms("wall")
    late_ms = max((item.late_ms for item in facts.stragglers.late), default=0.0)
    costly: list[tuple[float, float, CollectiveUse]] = []
    for use in facts.communication.collectives:
        size, transfer_ms = use.bytes_per_call, use.transfer_ms
        is_small = size is not None and size <= LATENCY_BYTES and use.per_step < MANY_CALLS
        if is_small and use.wait_ms is not None and transfer_ms is not None:
            # Waiting for a late replica is the cost of that one. Where a worker was not captured,
            # what looks like the transfer holds the wait for it.
            wait_ms = max(0.0, use.wait_ms - late_ms)
            if facts.breakdown.undivided:
                transfer_ms = max(0.0, transfer_ms - late_ms)
            costly.append((wait_ms + transfer_ms, wait_ms, use))
    if not costly or not wall:
        return
    spent_ms, wait_ms, use = max(costly, key=lambda item: item[0])
    if min(spent_ms, _exposed_ms(facts, spent_ms)) / wall < LATENCY_SHARE:
        return
    also = [
        f"{_calls_text(other)} {units.milliseconds(ms)}"
        for ms, _, other in costly
        if other is not use and ms / wall >= LATENCY_SHARE
    ]
    takes = f", and {units.listed(also)}" if also else ""
    waits = _is_waiting(wait_ms, spent_ms - wait_ms)
    delays_ms = injected_delays(facts.segment) if waits else {}
    injected = f" {injected_sentence(delays_ms)}" if delays_ms else ""
    few = few_threads.few_threads(facts) if waits and not delays_ms else None
    if waits and not delays_ms and few is None and num_sharing(facts):
        return
    found_use = finding(
        facts,
        KEY,
        f"{of_a_step(facts, spent_ms, wall)} passes in {_calls_text(use)}: "
        f"{units.milliseconds(wait_ms)} until the last replica has entered it, "
        f"{units.milliseconds(spent_ms - wait_ms)} in the transfer{_or_work(facts)}{takes}. The "
        f"cost is {'waiting' if waits else 'latency'}, not bytes.{injected}",
        BY_TURNS if few else _advice(waits, is_injected=bool(delays_ms)),
        per_step(facts, spent_ms, wall),
        op=use.op,
        bytes_per_call=use.bytes_per_call,
        wait_ms=wait_ms,
        transfer_ms=spent_ms - wait_ms,
    )
    yield replace(found_use, caused_by=few_threads.KEY if few else None)


def _exposed_ms(facts: Facts, unknown_ms: float) -> float:
    """Time of a step in which a replica waits for a collective or transfers, and computes nothing:
    a reduction to one device may last as long as the ops of another replica. If it is not known,
    `unknown_ms`."""
    parts = [facts.breakdown.mean_ms(name) for name in ("wait", "transfer")]
    known = [ms for ms in parts if ms is not None]
    return sum(known) if known else unknown_ms


def edits(facts: Facts, result: Finding) -> dict[str, Any]:
    """No injected delay, if there is one and the replicas wait."""
    waits = _is_waiting(result.evidence["wait_ms"], result.evidence["transfer_ms"])
    return {"inject": []} if waits and injected_delays(facts.segment) else {}


def _or_work(facts: Facts) -> str:
    """What else the transfer may be, where workers were not captured."""
    if not facts.breakdown.undivided:
        return ""
    return " or in waiting for the work of other workers, which was not captured"


def _calls_text(use: CollectiveUse) -> str:
    """`the all-reduce of 24 B`; of several calls a step, `2 all-reduces of 47.5 kB on average`."""
    size = units.size(use.bytes_per_call)
    if round(use.per_step, 1) <= 1:
        return f"the {use.op} of {size}"
    return f"{use.per_step:.3g} {use.op}s a step, of {size} on average"


def _advice(waits: bool, *, is_injected: bool) -> str:
    if is_injected:
        return "Remove the injected delay to measure the program without it."
    if waits:
        return (
            "On the Timeline page, look at what the replicas do before they enter it: they do not "
            "arrive together."
        )
    return "Reduce it every few steps, or together with another tensor."


def removal(facts: Facts, result: Finding) -> Removal | str:
    """Without the injected delay, if there is one and the replicas wait; with communication that
    takes no time, if the cost is latency: the most that any remedy can save.
    """
    if edits(facts, result):
        return Removal("no-delay")
    if _is_waiting(result.evidence["wait_ms"], result.evidence["transfer_ms"]):
        return WAITING
    return Removal("free-ops", kind_of_op="communication", is_bound=True)


def _is_waiting(wait_ms: float, transfer_ms: float) -> bool:
    """Whether the replicas spend more time waiting for each other than in the transfer."""
    return wait_ms > transfer_ms
