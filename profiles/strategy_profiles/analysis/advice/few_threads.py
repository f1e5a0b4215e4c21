"""Does a process have fewer threads to run ops on than replicas?"""

from __future__ import annotations

from msgspec import Struct

from strategy_profiles.analysis.facts import Facts

KEY = "inter-op-threads"
"""Of the rule that reports it, and that late replicas refer to."""


class FewThreads(Struct, frozen=True):
    """Of one process."""

    num_threads: int
    num_replicas: int


def few_threads(facts: Facts) -> FewThreads | None:
    """The threads and replicas of a process; None if it has enough threads, or the number of them
    is TensorFlow's choice, which is one for each core, or is not recorded. Replicas on GPUs compute
    at the same time, however few threads launch their kernels.

    Where there are no more cores than threads, more threads would not run more ops at once.
    """
    environment = facts.environment
    if (
        environment is None
        or environment.threads is None
        or not environment.threads.inter_op
        or facts.has_gpus
    ):
        return None
    num_threads, num_replicas = environment.threads.inter_op, facts.segment.num_replicas
    num_replicas //= max(facts.segment.num_workers, 1)
    useful = min(num_replicas, environment.host.cpus or num_replicas)
    return FewThreads(num_threads, num_replicas) if num_threads < useful else None
