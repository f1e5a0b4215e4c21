"""Steps that were traced on the same variables, kept for when the run comes back to one of them.

Tracing is most of what a live change takes, and TensorFlow never gives a traced graph back: a
step that has left is there anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_core.training.train_step import Step
from strategy_lab.profiles.spec.run_spec import RunSpec


class Kind(NamedTuple):
    """What is part of a step's graph. Batch sizes are not: a `tf.function` tells them apart."""

    with_marks: bool
    delayed: frozenset[int]
    """Replicas with a delay. How long it is, the step asks when it runs."""
    algorithm: Algorithm
    """How gradients cross devices."""
    num_packs: int
    bytes_per_pack: int


@dataclass
class TracedStep:
    """A step, and what of it can change without a new trace."""

    step: Step
    delays_ms: dict[int, float]
    """By replica; read whenever the step runs."""
    recorded: dict[int, int] = field(default_factory=dict)
    """By global batch size: the segment in whose first step it was traced and put on record."""


Build = Callable[[Mapping[int, float]], Step]


class StepCache:
    """The steps of one strategy, model and optimizer."""

    def __init__(self) -> None:
        self._steps: dict[Kind, TracedStep] = {}

    def get(self, kind: Kind, delays_ms: Mapping[int, float], build: Build) -> TracedStep:
        """The step of a kind; if it does not exist yet, `build` makes it with these delays."""
        found = self._steps.get(kind)
        if found is None:
            lasting = dict(delays_ms)
            found = self._steps[kind] = TracedStep(build(lasting), lasting)
        return found

    def forget(self, step: TracedStep) -> None:
        """Forget a step that failed, so that it is traced again."""
        self._steps = {kind: kept for kind, kept in self._steps.items() if kept is not step}


def kind_of(spec: RunSpec, algorithm: Algorithm, delays_ms: Mapping[int, float]) -> Kind:
    """The kind of step that a spec asks for, its gradients reduced by an algorithm."""
    packing = (spec.num_packs, spec.bytes_per_pack)
    return Kind(spec.capture.marks, frozenset(delays_ms), algorithm, *packing)
