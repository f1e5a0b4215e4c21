"""The computation itself takes most of the time, and one part of it most of that.

## What it does

Takes the time in which replicas run their own ops, and names the type of op and the layer that take
most of it. It ranks by that part: a remedy elsewhere that gains more comes first.

## Why is this slow

It is the work that the program asks for.

## What to do

Where the op belongs to the model, more replicas or faster devices help. Where it does not, such as
a metric over all candidates, do it less often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from strategy_lab.profiles.analysis.account.op_time import OpTime
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding
from strategy_lab.profiles.errors import shortened
from strategy_lab.profiles.reporting import units

KEY = "computation"
NO_GAIN = "The computation is what the step is for."
SHARE = 0.1
"""Of the loop without its first step."""
MOST = 3
MOST_OF_A_NAME = 48
"""Characters: the names of kernels have their template arguments."""


def find(facts: Facts) -> Iterator[Finding]:
    row = facts.account.row("loop/steps/compute")
    if row is None or facts.account.share_of_usual(row) < SHARE or not facts.ops:
        return
    parts = largest_parts(facts.ops)
    of_loop = facts.account.share(row)
    named = ", ".join(f"{name} {units.share(part * of_loop)}" for name, part in parts)
    yield finding(
        facts,
        KEY,
        f"Its computation limits it: the replicas' ops take {units.share(of_loop)} of the loop, "
        f"{named}.",
        "If an op is needed only for a metric, compute it less often. Else more replicas, a faster "
        "device or less work per step help.",
        facts.account.cost(row.total_ms * parts[0][1], "derived", facts.held_up.num_steps),
        ops=[name for name, _ in parts],
    )


def largest_parts(ops: Sequence[OpTime]) -> list[tuple[str, float]]:
    """The largest types of op, each with its main layer: name and share of the computation."""
    types: dict[str, list[OpTime]] = defaultdict(list)
    for op in ops:
        types[op.op].append(op)
    ordered = sorted(types.items(), key=lambda item: -sum(op.share for op in item[1]))
    return [(_named(name, parts), sum(op.share for op in parts)) for name, parts in ordered[:MOST]]


def _named(whole: str, parts: Sequence[OpTime]) -> str:
    name = shortened(whole, MOST_OF_A_NAME)
    layers = [op.layer for op in parts if op.layer is not None]
    if not layers:
        return f"`{name}`"
    among = "" if len(set(layers)) == 1 else " and others"
    return f"`{name}` of `{layers[0]}`{among}"
