"""What held up the typical captured steps, as far as a capture can name it?

From the table `causes`: tracing, the limiting stage of the input, Python between calls, ops that
run Python, and ops of a replica on another device. All lengths are means over the typical captured
steps, so they compare with the breakdown of the same steps.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.tables.columns import of_segment
from strategy_profiles.tables.store import Profile

MANY_OPS = 300
"""Of a replica and step. A step of a convolutional network of two layers has 50 ops that take time,
with checks of every op 230; a loop over the 256 time steps of an RNN has 2,400."""

LONGEST_START_MS = 0.03
"""Of an op, on average. TensorFlow takes 2 to 11 µs to start one, and took 18 µs on a machine that
other programs used. The 406 ops of a convolutional network that lost its cores to them were 42 µs
apart, which is not due to their number."""


UNRECORDED = 5
"""Ops of a loop for each recorded one, an assumption: TensorFlow records only those that may
take long, such as a MatMul. Of a loop that `tf.map_fn` made, 226 were recorded, 0.047 ms apart."""


class Cause(Struct, frozen=True):
    """One thing that held up steps."""

    kind: str
    """As in `strategy_profiles.tables.schema.CAUSES`."""
    name: str
    """Empty if it has none."""
    detail: str | None
    replica: int | None
    device: str | None
    num_steps: int
    """Typical captured steps in which it was seen."""
    held_ms: float
    """Per step, while no replica ran anything; of ops, how long they ran."""
    each_ms: float | None
    """Mean length of one occurrence."""
    count: float
    """Occurrences per step."""
    bytes: float | None
    """Per step, where it moves any."""


class SegmentCauses(Struct, frozen=True):
    """The causes of a segment, the longest first, and of how many steps they are means."""

    num_steps: int
    causes: tuple[Cause, ...]

    def of_kind(self, *kinds: str) -> tuple[Cause, ...]:
        return tuple(cause for cause in self.causes if cause.kind in kinds)

    @property
    def has_many_ops(self) -> bool:
        """Whether a replica runs so many ops that the runtime's start of each one may matter.

        So does a loop whose ops were too short to be recorded. Of fewer ops, or if the gaps are
        longer than the start of an op, the next one waits for something. Between two recorded ops
        of a loop are some that were too short.
        """
        causes = self.of_kind("between-ops")
        num_ops = sum(cause.count for cause in causes)
        many, longest_ms = MANY_OPS, LONGEST_START_MS
        if self.loop is not None:
            many, longest_ms = many // UNRECORDED, longest_ms * UNRECORDED
        is_start = self.held_ms("between-ops") <= longest_ms * num_ops
        return self.unrecorded_loop is not None or (num_ops >= many and is_start)

    @property
    def unrecorded_loop(self) -> str | None:
        """The name of a loop whose ops were too short to be recorded; None if there is none."""
        causes = self.of_kind("between-ops")
        return next((cause.name for cause in causes if cause.name and not cause.count), None)

    @property
    def loop(self) -> str | None:
        """The loop that most ops of a step belong to, or that has ops too short to be recorded."""
        return next((cause.name for cause in self.of_kind("between-ops") if cause.name), None)

    @property
    def launch_ms(self) -> float:
        """How long a GPU idles per step until its next kernel is launched; mean over GPUs."""
        causes = self.of_kind("launch")
        return sum(cause.held_ms for cause in causes) / len(causes) if causes else 0.0

    def held_ms(self, *kinds: str) -> float:
        """Per step, by all causes of these kinds together."""
        return sum(cause.held_ms for cause in self.of_kind(*kinds))


def held_up(profile: Profile, segment: int) -> SegmentCauses:
    """The causes in the typical captured steps of a segment."""
    steps = typical_captured_steps(profile, segment)
    rows = of_segment(profile.table("causes"), segment).to_pylist()
    chosen = set(steps.tolist())
    groups: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for row in rows:
        if row["step"] in chosen:
            key = tuple(row[name] for name in ("kind", "name", "detail", "replica", "device"))
            groups.setdefault(key, []).append(row)
    causes = [_mean_of(members, len(steps)) for members in groups.values()]
    return SegmentCauses(len(steps), tuple(sorted(causes, key=lambda cause: -cause.held_ms)))


def _mean_of(rows: list[dict[str, object]], num_steps: int) -> Cause:
    """One cause from its rows in several steps: means per step, of `num_steps` in all."""

    def total(name: str) -> float:
        return float(np.nansum(np.array([row[name] for row in rows], np.float64)))

    first, count = rows[0], total("count")
    sizes = [row["bytes"] for row in rows]
    return Cause(
        kind=str(first["kind"]),
        name=str(first["name"] or ""),
        detail=None if first["detail"] is None else str(first["detail"]),
        replica=first["replica"] if isinstance(first["replica"], int) else None,
        device=None if first["device"] is None else str(first["device"]),
        num_steps=len({row["step"] for row in rows}),
        held_ms=total("held_ms") / num_steps,
        each_ms=total("total_ms") / count if count else None,
        count=count / num_steps,
        bytes=None if None in sizes else total("bytes") / num_steps,
    )
