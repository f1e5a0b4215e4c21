"""Whether a strategy checks its steps, and how it reports the findings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from strategy_profiles.run.event_parts import TpuFinding
from strategy_tpu.warn import TPUProgramWarning
from strategy_tpu.xla.check import XlaCheck, check

ENVIRONMENT = "STRATEGY_LAB_XLA_CHECK"
"""For strategies created without `xla_check` and `strict`: `0` turns the check off, `1` (the
default) warns, `strict` raises an error."""

_OFF = ("0", "off", "false", "no")


@dataclass(slots=True)
class XlaChecker:
    """Checks every trace of one strategy's steps."""

    is_on: bool
    is_strict: bool
    last: XlaCheck | None = None
    """Result for the last trace; None before the first one, and if the check is off."""
    _warned: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, xla_check: bool | None, strict: bool | None) -> XlaChecker:
        """From the arguments of a strategy; the environment determines those that are None."""
        setting = os.environ.get(ENVIRONMENT, "1").strip().lower()
        is_strict = setting == "strict" if strict is None else strict
        is_on = is_strict or setting not in _OFF if xla_check is None else xla_check
        return cls(is_on, is_strict)

    def look_at(self, cluster: Any, outer: Any, outputs: Sequence[tf.Tensor], device: str) -> None:
        """Check a traced cluster and warn of what a TPU would do with it.

        If strict, raises tf.errors.InvalidArgumentError for what would not compile.
        """
        if not self.is_on:
            return
        try:
            self.last = check(cluster, outer, outputs, device)
        except Exception as error:
            # The step itself is fine: a failure of the check must not end it, but is reported.
            self.last = XlaCheck(unchecked=[f"the check failed: {type(error).__name__}: {error}"])
            warnings.warn(f"The step was not checked for TPUs: {error}", TPUProgramWarning, 2)
        refused = self.last.of("refused")
        if refused and self.is_strict:
            sentences = "\n".join(each.sentence() for each in refused)
            raise tf.errors.InvalidArgumentError(
                None, None, f"TPU compilation failed.\n{sentences}"
            )
        for finding in [*refused, *self.last.of("on_host")]:
            self._warn(finding)

    def _warn(self, finding: TpuFinding) -> None:
        sentence = finding.sentence()
        if sentence in self._warned or finding.is_asked_for:
            return
        self._warned.add(sentence)
        file, line = finding.file or "tpu_step", finding.line or 0
        warnings.warn_explicit(
            finding.text() if finding.file else sentence, TPUProgramWarning, file, line
        )
