"""What the file of a strategy gives, as `own_loop`, whose steps no loop of the lab can run."""

from __future__ import annotations

from typing import Any, Protocol

import tensorflow as tf

from strategy_core.training.custom_loop import Loop
from strategy_core.training.workload import Workload
from strategy_profiles.spec.run_spec import RunSpec


class Parted(Protocol):
    """Variables that are trained in place of a model's own, which stay whole outside of the
    strategy."""

    @property
    def variables(self) -> list[Any]:
        """All of them, in the order of creation."""

    def gather(self) -> None:
        """Copy their values to the whole model."""

    def hand_out(self) -> None:
        """Copy the values of the whole model to them."""


class OwnLoop(Protocol):
    """Builds the loop of a segment."""

    def holds_parts(self, spec: RunSpec, work: Workload) -> bool:
        """Whether `parted` gives variables; raises SpecError where the workload allows none."""

    def parted(
        self, spec: RunSpec, work: Workload, strategy: Any, model: Any, optimizer: Any
    ) -> Parted | None:
        """The variables that are trained in place of the model's own; None for these."""

    def loop(
        self,
        spec: RunSpec,
        work: Workload,
        strategy: Any,
        model: Any,
        optimizer: Any,
        parted: Parted | None,
        source: tf.data.Dataset | Loop,
    ) -> tuple[Loop, list[str]]:
        """The loop, with notes for the user. `source` is the data set, or the previous loop, at
        whose position in its data this one goes on."""
