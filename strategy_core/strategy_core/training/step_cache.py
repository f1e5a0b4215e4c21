"""Caches steps that were traced on the same variables, for a run that returns to one of them.

Tracing is most of the time of a live change. TensorFlow never frees a traced graph, so the cache
takes no additional memory for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_core.training.injected_delay import Delays
from strategy_core.training.train_step import Step
from strategy_profiles.spec.run_spec import RunSpec


class Kind(NamedTuple):
    """What a step's graph depends on.

    Batch sizes are not included: a `tf.function` has one per size.
    """

    with_marks: bool
    with_xla: bool
    delayed: frozenset[int]
    """Replicas with a place for a delay. The step reads its length when it runs."""
    algorithm: Algorithm
    """How gradients are reduced across devices."""
    num_packs: int
    bytes_per_pack: int


@dataclass
class TracedStep:
    """A step, and its settings that can change without a new trace."""

    step: Step
    delays: Delays
    """Read whenever the step runs."""
    recorded: dict[int, int] = field(default_factory=dict)
    """The segment whose first step was traced and recorded, by global batch size."""


class StepCache:
    """The steps of one strategy, model and optimizer."""

    def __init__(self) -> None:
        self._steps: dict[Kind, TracedStep] = {}

    def get(self, kind: Kind, build: Callable[[], TracedStep]) -> TracedStep:
        """The cached step of a kind; if missing, `build` makes one."""
        if kind not in self._steps:
            self._steps[kind] = build()
        return self._steps[kind]

    def forget(self, step: TracedStep) -> None:
        """Forget a step that failed, so that it is traced again."""
        self._steps = {kind: kept for kind, kept in self._steps.items() if kept is not step}


def kind_of(spec: RunSpec, algorithm: Algorithm, delays_ms: Mapping[int, float]) -> Kind:
    """The kind of step that a spec asks for, with gradients reduced by `algorithm`."""
    packing = (spec.num_packs, spec.bytes_per_pack)
    return Kind(spec.capture.marks, spec.xla, frozenset(delays_ms), algorithm, *packing)
