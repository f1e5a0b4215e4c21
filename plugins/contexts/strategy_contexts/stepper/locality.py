"""The locality of arguments and results of each call, as StrategyExtended's documentation defines.

T: a separate value on each replica (PerReplica). M: the same value, with a copy on each replica
(Mirrored). V(v): a copy on each device of variable v. N: one value on each non-slot device.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LocalityRule:
    """A rule. `calls` are the recorded names of calls for which the page highlights it."""

    calls: tuple[str, ...]
    context: str
    takes: str
    gives: str


LOCALITY_RULES = (
    LocalityRule(("scope",), "default → cross-replica", "", "variables made inside: V(v)"),
    LocalityRule(
        ("run", "call_for_each_replica", "enter replica"),
        "default or cross-replica → replica",
        "T, M, any variable",
        "T; M where all replicas gave the same",
    ),
    LocalityRule(("merge_call",), "replica → cross-replica", "T", "what the merge function gives"),
    LocalityRule(("all_reduce", "all_gather"), "replica", "T", "M"),
    LocalityRule(
        ("reduce_to", "batch_reduce_to", "batch_all_reduce"),
        "cross-replica",
        "T",
        "M, or V(v) where the destination is variable v",
    ),
    LocalityRule(("reduce", "gather"), "cross-replica", "T", "one tensor"),
    LocalityRule(("update", "enter update"), "cross-replica → update", "V(v)", "V(v)"),
    LocalityRule(("update_non_slot",), "cross-replica → update", "N", "N"),
    LocalityRule(("broadcast_to",), "cross-replica", "one tensor", "M, or V(v) beside variable v"),
    LocalityRule(("read_var",), "any", "V(v)", "one tensor, aggregated where SyncOnRead"),
    LocalityRule(
        (
            "experimental_distribute_dataset",
            "distribute_datasets_from_function",
            "experimental_distribute_values_from_function",
        ),
        "cross-replica",
        "",
        "T",
    ),
)


def locality_rules() -> list[dict[str, object]]:
    """Return the rules as JSON-compatible objects."""
    return [asdict(rule) for rule in LOCALITY_RULES]
