"""Explains TensorFlow's context errors: where each replica was, and what to call instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from strategy_contexts.trace import ContextTrace, Entry
from strategy_core.private_tf import error_texts


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explained error. `message` is TensorFlow's own; the other fields explain it."""

    message: str
    meaning: str
    instead: str
    whereabouts: list[str]
    """The last actions before the error. Recordings on disk have this name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    meaning: str
    instead: str


_RULES = (
    _Rule(
        error_texts.EAGER_STEP_ON_TPU,
        "A TPU runs whole programs: a step that is called op by op cannot be sent to it.",
        "Call strategy.run inside a tf.function, or give it one.",
    ),
    _Rule(
        error_texts.NEEDS_CROSS_REPLICA_CONTEXT,
        "The call acts on all replicas at once, and was made by one replica alone.",
        "Make it outside the function given to strategy.run, or hand it to "
        "tf.distribute.get_replica_context().merge_call(fn), whose fn runs cross-replica.",
    ),
    _Rule(
        error_texts.NEEDS_REPLICA_CONTEXT,
        "The call belongs to one replica, and was made in cross-replica context.",
        "Make it inside the function given to strategy.run. In cross-replica context use "
        "strategy.reduce, strategy.gather or strategy.extended.reduce_to.",
    ),
    _Rule(
        error_texts.UNEQUAL_MERGE_CALLS,
        "Some replicas reached a merge_call (or an all_reduce) that others never reached.",
        "Let every replica make the same calls in the same order: no merge_call or all_reduce "
        "under a condition that depends on the replica.",
    ),
    _Rule(
        error_texts.MIXED_STRATEGIES,
        "Two strategies met: a value or a scope of one was used under the other.",
        "Create the variables and call run under one strategy's scope; leave one scope before "
        "you enter another.",
    ),
    _Rule(
        error_texts.NO_AGGREGATION,
        "Each replica would assign its own value, but the variable has one value for all replicas.",
        "Create the variable with aggregation=tf.VariableAggregation.SUM, MEAN or "
        "ONLY_FIRST_REPLICA, or all-reduce the value before you assign it.",
    ),
    _Rule(
        error_texts.SYNC_ON_READ_ASSIGNMENT,
        "A SyncOnRead variable holds different values on its replicas: with this aggregation there "
        "is no single right way to assign it from outside.",
        "Assign it inside strategy.run, where each replica assigns its own component.",
    ),
    _Rule(
        error_texts.MERGE_CALL_INSIDE_GRAPH,
        "merge_call was reached inside a tf.function, loop or condition of the replica's own: "
        "control cannot leave it half-way.",
        "Put the tf.function around strategy.run rather than inside the step, and keep merge_call "
        "out of tf.cond and tf.while_loop.",
    ),
)


def explain(error: BaseException, trace: ContextTrace) -> Explanation | None:
    """Explain an error about contexts; None for any other error."""
    message = str(error)
    for rule in _RULES:
        if rule.pattern.search(message):
            return Explanation(message, rule.meaning, rule.instead, last_actions(trace))
    return None


def last_actions(trace: ContextTrace) -> list[str]:
    """The last action of each replica, and of the cross-replica context, before the error."""
    last: dict[tuple[str, int | None], Entry] = {}
    for entry in trace.entries:
        last[entry.context, entry.replica] = entry
    return [_sentence(entry) for entry in last.values()]


def _sentence(entry: Entry) -> str:
    who = entry.context if entry.replica is None else f"{entry.context} {entry.replica}"
    where = f" at line {entry.source.line}" if entry.source.line else ""
    state = "failed in" if entry.error else "was last in"
    return f"{who}: {state} {entry.call}{where}"
