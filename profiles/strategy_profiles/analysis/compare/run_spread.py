"""How much do runs of one spec differ on this machine? From other runs in the same folder.

Runs count that were asked for the same (the seed may differ), ran on the same machine since the
same start of it and with the same TensorFlow, and finished.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.compare.repetitions import LEVEL
from strategy_profiles.analysis.compare.run_time import MIN_STEPS, num_apart, steady_ms
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.cache import KeptNewest
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.gpus import gpu_kinds
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.run.stamp import stamp_of
from strategy_profiles.tables.store import Profile, load

MOST_RUNS = 24
"""Limit on the other runs that count, newest first; to read one takes some tens of milliseconds."""
ASSUMED_SPREAD = 0.1
"""Spread where fewer than three other runs of the spec tell it. On two virtual cores of a host
with other virtual machines, 47 runs of 17 specs differed by 14 % within an hour (standard deviation
of the logarithm of their median step), runs that followed each other directly by 7 %."""
_MIN_FREEDOM = 2
_MOST_KEPT = 1000
"""Other runs are kept in memory, a number each: every comparison of a folder's runs needs them."""


class RunSpread(Struct, frozen=True):
    """Standard deviation of the logarithm of a run's step time over runs of one spec."""

    spread: float
    freedom: int
    num_runs: int
    """Runs that tell it."""

    @property
    def pair_spread(self) -> float:
        """Spread of the difference of two single runs."""
        return math.sqrt(2) * self.spread

    @property
    def usual_difference(self) -> float:
        """Relative: two single runs differ by more than this through chance in 3 of 100 cases."""
        return math.expm1(student_t(self.freedom, LEVEL) * self.pair_spread)


def spread_of(groups: Sequence[Sequence[float]]) -> RunSpread | None:
    """Pooled over groups of step times (ms), one group a spec; None if too few runs tell it."""
    known = [np.log(group) for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in known)
    if freedom < _MIN_FREEDOM:
        return None
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in known)
    return RunSpread(math.sqrt(squares / freedom), freedom, sum(len(group) for group in known))


def known_spread(runs: Sequence[tuple[Profile, int]], most: int = MOST_RUNS) -> RunSpread | None:
    """From the other runs of the same kinds that lie beside the given ones.

    Those given do not count themselves: what they differ by is the question.

    Args:
      runs: each with the number of the segment that is meant.
      most: how many other runs of a kind count, the newest ones.
    """
    named = {run.path.resolve() for run, _ in runs}
    groups: dict[str, dict[Path, float]] = {}
    for run, segment in runs:
        kind = kind_of(run, segment)
        if kind is not None and kind not in groups:
            groups[kind] = _others(run, segment, kind, named, most)
    return spread_of([list(group.values()) for group in groups.values()])


def kind_of(run: Profile, segment: int) -> str | None:
    """What runs must share to be repetitions of each other, as text; None if it is not known."""
    opened = next((item for item in run.segments if item.segment == segment), None)
    spec = _without_seed((opened.spec if opened else None) or run.spec)
    environment = run.environment
    if not spec or environment is None:
        return None
    host = environment.host
    machine = [host.name, host.boot, host.cpus, gpu_kinds(environment.gpus)]
    parts = [spec, segment, machine, environment.tensorflow]
    return json.dumps(parts, sort_keys=True, default=str)


def _others(
    run: Profile, segment: int, kind: str, named: Set[Path], most: int
) -> dict[Path, float]:
    """Step times of the other runs of this kind in the run's folder, the newest ones."""
    wanted = _without_seed(run.spec)
    times: dict[Path, float] = {}
    for path in _newest_first(run.path.resolve().parent):
        if len(times) == most:
            break
        identity = read_run_file(path)
        if path in named or identity is None or _without_seed(identity.spec) != wanted:
            continue
        other = _step_times(path).get(segment)
        if other is not None and other.kind == kind:
            times[path] = other.step_ms
    return times


class _OtherRun(Struct, frozen=True):
    kind: str | None
    step_ms: float


_Times = dict[int, _OtherRun]
"""A finished run's kind and step time, by segment; segments with too few steps are left out."""
_kept: KeptNewest[_Times] = KeptNewest(lambda _times: 1, _MOST_KEPT, _MOST_KEPT)


def keep_step_times(run: Profile, stamp: str) -> None:
    """Keep a run's step times, so that the spread of runs beside it need not read its files again.

    `stamp` is the state of its files (`stamp_of`) from before they were read.
    """
    _kept.get(str(run.path.resolve()), stamp, lambda: _times_of(run))


def _step_times(path: Path) -> _Times:
    """A run's step times, read once per state of its files; empty if it cannot be read."""

    def read() -> _Times:
        try:
            return _times_of(load(path))
        except LabError:
            return {}

    return _kept.get(str(path), stamp_of(path), read)


def _times_of(run: Profile) -> _Times:
    if run.status.state != "finished":
        return {}
    runs = {}
    for opened in run.segments:
        steady = steady_ms(step_times(run, opened.segment), num_apart(opened))
        if len(steady) * num_apart(opened) >= MIN_STEPS:
            kind = kind_of(run, opened.segment)
            runs[opened.segment] = _OtherRun(kind, float(np.median(steady)))
    return runs


def _newest_first(folder: Path) -> list[Path]:
    try:
        paths = [path for path in folder.iterdir() if path.is_dir()]
        return sorted(paths, key=lambda path: -path.stat().st_mtime_ns)
    except OSError:
        return []


def _without_seed(spec: Any) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != "seed"} if spec else {}
