"""The outcome of a gate: every check, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from strategy_gate.baseline import Baseline, CheckedRun, check_one_source, check_same
from strategy_gate.checks import ExactCheck, exact_checks
from strategy_gate.time_checks import LEAST, Times, time_checks
from strategy_profiles.errors import AnalysisError

Only = Literal["exact", "times"]
Outcome = Literal["within", "beyond", "undecided"]
EXIT_CODES: dict[Outcome, int] = {"within": 0, "beyond": 1, "undecided": 2}


class GateReport(Struct, frozen=True):
    """What a gate found. The step decides about times, and so does a part that is beyond."""

    runs: tuple[str, ...]
    title: str
    """Workload and strategy."""
    exact: tuple[ExactCheck, ...]
    times: Times | None
    """None if only exact checks were asked for."""
    notes: tuple[str, ...]

    @property
    def is_better(self) -> bool:
        """Whether something improved beyond noise, so that a better baseline could be accepted."""
        return "better" in self._outcomes

    @property
    def outcome(self) -> Outcome:
        if "beyond" in self._outcomes:
            return "beyond"
        is_open = self.times is not None and self.times.step.outcome == "undecided"
        return "undecided" if is_open or "unknown" in self._outcomes else "within"

    @property
    def can_be_accepted(self) -> bool:
        """Whether accepting these runs changes what the next check finds.

        It does not for times alone of runs recorded alternately: their baseline is the other side,
        which the next check records again.
        """
        is_other_side = not self.exact and self.times is not None and self.times.is_paired
        return (self.is_better or self.outcome == "beyond") and not is_other_side

    @property
    def _outcomes(self) -> set[str]:
        times = self.times.checks if self.times else ()
        return {check.outcome for check in self.exact} | {check.outcome for check in times}


def gate(
    baseline: Baseline,
    runs: Sequence[CheckedRun],
    *,
    only: Only | None = None,
    least: float = LEAST,
    is_steady: bool = False,
) -> GateReport:
    """Check runs against a baseline; raises AnalysisError if they cannot be compared with it.

    Args:
      only: `exact` or `times`, to leave out the other.
      least, is_steady: see `time_checks`.
    """
    names = [item.run.run for item in runs]
    keys = [(item.run.run, item.run.started_ns) for item in runs]
    if len(set(keys)) < len(keys):
        raise AnalysisError("A run is named twice", advice="Name each run once")
    accepted = ("the baseline", baseline.workload, baseline.global_batch_size)
    check_same([accepted, *((i.run.run, i.workload, i.global_batch_size) for i in runs)])
    check_one_source(
        {"the baseline": baseline.is_imported}
        | {f"run {item.run.run}": item.exact.is_imported for item in runs}
    )
    strategy = runs[0].exact.facts["replicas"]["strategy"]
    times = None
    if only != "exact":
        read = [item.run for item in runs]
        times = time_checks(baseline.runs, read, least=least, is_steady=is_steady)
    return GateReport(
        runs=tuple(names),
        title=f"{baseline.workload or 'a program'}, {strategy}",
        exact=() if only == "times" else exact_checks(baseline, runs),
        times=times,
        notes=tuple(_notes(baseline, runs, only)),
    )


def _notes(baseline: Baseline, runs: Sequence[CheckedRun], only: Only | None) -> list[str]:
    texts = []
    versions = {str(run.machine.tensorflow) for run in baseline.runs}
    versions |= {str(item.run.machine.tensorflow) for item in runs}
    if len(versions) > 1:
        texts.append(
            f"TensorFlow differs ({' and '.join(sorted(versions))}): each version places ops in "
            "its own way, so accept a baseline for each."
        )
    if only != "times":
        texts += [f"The baseline does not know its {k}: {v}." for k, v in baseline.missing.items()]
        if unknown := baseline.unknown:
            texts.append(f"Not checked, as the accepted runs do not know it: {', '.join(unknown)}.")
        if baseline.varies:
            texts.append(f"Not checked, as the accepted runs differ: {', '.join(baseline.varies)}.")
    return texts
