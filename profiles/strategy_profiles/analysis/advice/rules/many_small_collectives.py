"""Many small collectives that are not packed.

## What it does

Looks for a kind of collective with 8 or more calls a step that move at most 1 MB each; of several
kinds, the most frequent. If the sizes of some calls are not known, those of most are enough. The
cost includes the time in which TensorFlow's Python makes the keys of collectives while no replica
runs an op.

## Why is this slow

Each call has a cost of its own (launch, agreement of the group, latency of the link) beside its
bytes. If it is part of a `tf.function`, TensorFlow's Python makes a tensor for its key before each
call of the function, on every replica: 0.1 ms for each of the 102 collectives of ten layers of
synchronized BatchNormalization on two replicas.

## What to do

Pack the gradients (`bytes_per_pack`, `num_packs`), or use an algorithm that packs them. How
depends on the cross-device algorithm. In a training loop of your own, pass all gradients to one
call of `all_reduce`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from strategy_profiles.analysis.communication import CollectiveUse
from strategy_profiles.analysis.facts import Facts, Finding, finding, of_a_step, per_step
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import ALL_REDUCE, REDUCE, SourceLine

KEY = "many-small-collectives"
ROWS = ("loop/steps/wait", "loop/steps/transfer", "loop/steps/idle")
SMALL_CALL_BYTES = 1_000_000

MANY_CALLS = 8
MOST_LAYERS = 2
WORTH_A_SENTENCE = 0.05
"""Share of a step from which the sentence names the time of the keys."""
OTHER_OPS = "With other packs of this algorithm other ops run than the recorded ones."

_PACKING = {
    "collective-ring": "Pack the gradients: set bytes_per_pack, so that fewer, larger tensors are "
    "reduced.",
    "nccl": "Pack the gradients: lower num_packs, or set bytes_per_pack, so that fewer, larger "
    "tensors are reduced.",
    "hierarchical-copy": "Pack the gradients: lower num_packs, so that fewer, larger tensors are "
    "reduced.",
    "reduction-to-one-device": (
        "Tensors are reduced one by one: try an algorithm that packs them (hierarchical-copy, "
        "collective-ring), or fewer and larger variables."
    ),
}
"""How to make each cross-device algorithm reduce fewer, larger tensors."""

_NO_PACKING = (
    "Give each step more work, so that communication is a smaller share, or use fewer and "
    "larger variables."
)
_OF_LAYERS = (
    "Let these layers synchronise less: BatchNormalization(synchronized=False){at}, or fewer "
    "synchronized layers. Reduce values of several layers in one call where they are your own."
)
_OF_VARIABLES = (
    "With synchronization=tf.VariableSynchronization.ON_READ each replica adds to a copy of its "
    "own, and only to read the variable reduces it. Or keep one vector in place of many numbers, "
    "which one call reduces."
)
_AGGREGATES = re.compile(r"\baggregation\s*=\s*\S*\b(SUM|MEAN)\b")
_ON_READ = re.compile(r"\bON_READ\b")
_OF_A_LOOP = (
    "Pass all tensors to one call, which packs them: replica_context.all_reduce() takes a list, as "
    "Keras's optimizer.apply_gradients gives it. Otherwise use fewer and larger variables, or give "
    "each step more work."
)


def find(facts: Facts) -> Iterator[Finding]:
    """The most frequent of them; the others have the same reason."""
    use, wall = _most_frequent(facts), facts.breakdown.mean_ms("wall")
    if use is None:
        return
    keys_ms, cost = of_small_collectives_ms(facts), None
    if wall and use.transfer_ms:
        use_ms = min((use.wait_ms or 0.0) + use.transfer_ms, _exposed_share(facts) * wall)
        cost = per_step(facts, use_ms + keys_ms, wall)
    of_keys = (
        " TensorFlow's Python makes their keys before each call of the function: "
        f"{of_a_step(facts, keys_ms, wall)}, while no replica runs an op."
        if wall and keys_ms / wall >= WORTH_A_SENTENCE
        else ""
    )
    yield finding(
        facts,
        KEY,
        f"{use.per_step:.0f} {use.op} calls a step move {units.size(use.known_bytes_per_call)} "
        f"each on average{_of_layers(use.layers) or _asked_for(facts)}: replicas wait for each "
        "other and start a call as often, which costs more than transferring the bytes."
        f"{of_keys}",
        _OF_LAYERS.format(at=facts.said_at("synchronized=True")) if use.layers else _advice(facts),
        cost,
        calls_per_step=use.per_step,
        bytes_per_call=use.known_bytes_per_call,
        keys_ms=keys_ms or None,
        layers=list(use.layers),
    )


def _asked_for(facts: Facts) -> str:
    at = facts.said_at(ALL_REDUCE) or _at_reduce_in_loop(facts)
    if not at and (made := _made_with_aggregation(facts)):
        return f", one for each change of a variable that is made at {made.place} (`{made.text}`)"
    return f", asked for{at}" if at else ""


def _made_with_aggregation(facts: Facts) -> SourceLine | None:
    """The line that gives variables an aggregation, so that each change is reduced by itself."""
    if facts.lines_with(ALL_REDUCE) or facts.first_line_of_sources(_ON_READ):
        return None
    line = facts.first_line_of_sources(_AGGREGATES)
    return None if line is None else replace(line, text=line.text.strip())


def _at_reduce_in_loop(facts: Facts) -> str:
    """` at train.py:71 (`line`)`: where a loop of Python reduces one value after the other."""
    lines = facts.lines_with(REDUCE)
    in_loop = [each for each in lines if facts.read_line_work(each.file, each.line).loops]
    return f" at {in_loop[0].place} (`{in_loop[0].text.strip()}`)" if len(in_loop) == 1 else ""


def _exposed_share(facts: Facts) -> float:
    """Share of the steps that the account has for communication: of a call, replicas may compute
    other ops in the rest of its time, and the time of the keys is no part of it."""
    rows = [facts.account.row(f"loop/steps/{kind}") for kind in ("wait", "transfer")]
    steps = facts.account.row("loop/steps")
    return sum(row.total_ms for row in rows if row) / steps.total_ms if steps else 0.0


def of_small_collectives_ms(facts: Facts) -> float:
    """Time per step in which Python makes the keys of collectives; 0 if they are not many."""
    return facts.held_up.held_ms("collective-key") if _most_frequent(facts) else 0.0


def _most_frequent(facts: Facts) -> CollectiveUse | None:
    frequent = sorted(facts.communication.collectives, key=lambda use: -use.per_step)
    return next((use for use in frequent if _are_many_and_small(use)), None)


def _are_many_and_small(use: CollectiveUse) -> bool:
    size = use.known_bytes_per_call
    return use.per_step >= MANY_CALLS and size is not None and size <= SMALL_CALL_BYTES


def _of_layers(layers: Sequence[str]) -> str:
    if not layers:
        return ""
    named = [f"`{layer}`" for layer in layers[:MOST_LAYERS]]
    if others := len(layers) - len(named):
        named.append(units.counted(others, "other layer"))
    return f", most of them for {units.listed(named)}"


def _advice(facts: Facts) -> str:
    if not facts.lines_with(ALL_REDUCE) and _at_reduce_in_loop(facts):
        return (
            "Stack the values (tf.stack) and reduce the stacked tensor in one call, or keep sums "
            "on each worker (tf.keras.metrics) and reduce them once an epoch."
        )
    if _made_with_aggregation(facts):
        return _OF_VARIABLES
    if not facts.segment.is_of_lab and facts.segment.has_central_copy is False:
        return _OF_A_LOOP
    return _PACKING.get(facts.segment.cross_device_ops, _NO_PACKING)


_EDITS: dict[str, dict[str, Any]] = {
    "collective-ring": {"bytes_per_pack": 32_000_000},
    "nccl": {"bytes_per_pack": 32_000_000},
    "hierarchical-copy": {"num_packs": 1},
    "reduction-to-one-device": {"cross_device_ops": "collective-ring"},
}


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Packs of 32 MB, or an algorithm that packs."""
    return _EDITS.get(facts.segment.cross_device_ops, {})


def removal(facts: Facts, _result: Finding) -> Removal | str:
    """With packs of 32 MB (`collective-ring`)."""
    changes = _EDITS.get(facts.segment.cross_device_ops, {})
    if "bytes_per_pack" not in changes:
        return OTHER_OPS
    return Removal("spec", changes=changes)
