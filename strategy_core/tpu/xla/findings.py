"""The result of checking one traced step, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["refused", "on_host", "slow"]
"""`refused`: a TPU's compiler ends with an error. `on_host`: soft placement moves the op out of the
compiled program, to the TPU's host, in every step. `slow`: compiled, but at a cost."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of op on one line of the program."""

    outcome: Outcome
    op: str
    """Op type."""
    name: str
    """Node name of the first such op."""
    reason: str
    """Why, as a clause: `XLA has no kernel for it`."""
    advice: str
    """What to write instead."""
    file: str | None = None
    """The program's file, None if the op was made by TensorFlow or Keras alone."""
    line: int | None = None
    code: str | None = None
    """The text of that line."""
    count: int = 1
    is_asked_for: bool = False
    """Whether the program itself puts the op there (`tf.tpu.outside_compilation`)."""

    @property
    def where(self) -> str:
        """`model.py:12`, or the node's name."""
        if self.file:
            return f"{self.file}:{self.line}"
        return f"node {self.name}" if self.name else "the step"

    def sentence(self) -> str:
        """One line: where, which op, what a TPU does with it, why, and what to do."""
        return f"{self.where}: {self.text()}"

    def text(self) -> str:
        """`sentence` without the place."""
        verb = {
            "refused": "would not compile",
            "on_host": "would run on the host, outside of the compiled program",
            "slow": "would compile, at a cost",
        }[self.outcome]
        times = f" ({self.count} ops)" if self.count > 1 else ""
        return f"On a TPU, {self.op}{times} {verb}: {self.reason}. {self.advice}."


@dataclass(slots=True)
class XlaCheck:
    """What XLA said of one trace of a step."""

    findings: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """What could not be checked, a sentence each."""
    num_ops: int = 0
    """Ops that were looked up, those in function bodies included."""
    lookup_ms: float = 0.0
    lowering_ms: float | None = None
    """Time that XLA's bridge took; None if it was not asked."""

    def of(self, outcome: Outcome) -> list[Finding]:
        return [each for each in self.findings if each.outcome == outcome]
