"""What does each stage of the input pipeline do, and which one do the steps wait for?

From captured steps: tf.data reports each call of a stage, with its parallelism, its buffer, and
whether it tunes them itself. All times are means over the typical captured steps.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from msgspec import Struct

from strategy_profiles.analysis.causes import Cause, held_up
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.reporting import units
from strategy_profiles.tables.columns import of_segment, of_steps
from strategy_profiles.tables.store import Profile

OF_DISTRIBUTE = frozenset(
    {"Iterator::Root", "Iterator::Root::Prefetch", "Iterator::Root::Prefetch::Generator"}
)
"""Stages that tf.distribute adds to take batches to the devices."""
_TO_A_DEVICE = "device_prefetch"
"""Its own dataset, which a pipeline that only ends in the same stages does not have."""
NOT_RECORDED = "no captured step of this segment has events of tf.data's stages"


class Stage(Struct, frozen=True):
    """One stage of the pipeline. A value is None if tf.data does not report it."""

    path: str
    """From the stage that the program reads to this one: `Iterator::Root::Prefetch::Map`."""
    dataset: str | None
    count: float
    """Elements that it delivered per step."""
    total_ms: float
    """Per step, its calls with those of the stages below in the same thread."""
    self_ms: float
    """Per step, its calls alone; for a stage with a buffer, how long its reader waited for it."""
    parallelism: int | None
    buffer_size: int | None
    buffered: float | None
    """Mean number of elements that its buffer held when it was called."""
    is_autotuned: bool | None
    held_ms: float
    """Per step, how long the step waited while this was the deepest stage at work."""

    @property
    def name(self) -> str:
        return self.path.rpartition("::")[2]

    @property
    def parent(self) -> str | None:
        """Path of the stage that reads this one."""
        return self.path.rpartition("::")[0].removesuffix("Iterator") or None

    @property
    def depth(self) -> int:
        return self.path.count("::") - 1


class InputStages(Struct, frozen=True):
    """The pipeline of a segment, each stage after its reader; `reason` says why it is unknown."""

    segment: int
    num_steps: int = 0
    stages: tuple[Stage, ...] = ()
    limiting: Stage | None = None
    """Of the program's own stages, the one that steps wait for longest."""
    handing_ms: float = 0.0
    """Per step, how long the step waited while only the stages of tf.distribute were at work."""
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """What a step waits for: the limiting stage and its settings, or tf.distribute."""
        if self.reason:
            return f"The stages of the input are not known: {self.reason}."
        limiting = self.limiting
        steps = units.counted(self.num_steps, "captured step")
        handing, mean = units.milliseconds(self.handing_ms), f"(mean of {steps})"
        if self.handing_ms > (limiting.held_ms if limiting else 0.0):
            text = f"A step waits {handing} while tf.distribute hands batches to devices {mean}"
            if limiting is None:
                return f"{text}, and for no stage of the program."
            waited = units.milliseconds(limiting.held_ms)
            return (
                f"{text}. Of the program's own stages, it waits longest for {limiting.name}: "
                f"{waited}."
            )
        if limiting is None:
            return f"No stage of the input held up the {steps}."
        waited = units.milliseconds(limiting.held_ms)
        text = f"The limiting stage is {limiting.name}: a step waits {waited} for it {mean}"
        return "; ".join([text, *_settings(limiting)]) + "."


def _settings(stage: Stage) -> list[str]:
    texts = []
    by_whom = {True: ", chosen by tf.data", False: ", fixed by the program", None: ""}
    if stage.parallelism is not None:
        texts.append(f"it makes {stage.parallelism} at a time{by_whom[stage.is_autotuned]}")
    if stage.buffer_size is not None and stage.buffered is not None:
        texts.append(f"its buffer of {stage.buffer_size} holds {stage.buffered:.3g} on average")
    return texts


def input_stages(profile: Profile, segment: int) -> InputStages:
    """Return the pipeline of a segment's typical captured steps."""
    steps = set(typical_captured_steps(profile, segment).tolist())
    rows = of_steps(of_segment(profile.table("input_stages"), segment), steps)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows.to_pylist():
        groups[row["name"], _dataset(row["name"], row["dataset"] or "")].append(row)
    if not groups:
        return InputStages(segment, reason=NOT_RECORDED)
    causes = held_up(profile, segment).of_kind("input-stage")
    stages = tuple(
        _stage(path, dataset or None, members, causes, len(steps))
        for (path, dataset), members in sorted(groups.items())
    )
    able = [stage for stage in stages if stage.held_ms and stage.path not in OF_DISTRIBUTE]
    limiting = max(able, key=lambda stage: stage.held_ms, default=None)
    handing_ms = 0.0
    if any(stage.dataset == _TO_A_DEVICE for stage in stages):
        handing_ms = sum(cause.held_ms for cause in causes if cause.name in OF_DISTRIBUTE)
    return InputStages(segment, len(steps), stages, limiting, handing_ms)


def _dataset(path: str, dataset: str) -> str:
    """Drop tf.data's number where tf.distribute makes one such dataset per device."""
    return dataset.partition(":")[0] if path in OF_DISTRIBUTE else dataset


def _stage(
    path: str,
    dataset: str | None,
    rows: list[dict[str, Any]],
    causes: tuple[Cause, ...],
    num_steps: int,
) -> Stage:
    held = [row["buffered"] for row in rows if row["buffered"] is not None]
    return Stage(
        path=path,
        dataset=dataset,
        count=sum(row["count"] for row in rows) / num_steps,
        total_ms=sum(row["total_ms"] for row in rows) / num_steps,
        self_ms=sum(row["self_ms"] for row in rows) / num_steps,
        parallelism=_last(rows, "parallelism"),
        buffer_size=_last(rows, "buffer_size"),
        buffered=sum(held) / len(held) if held else None,
        is_autotuned=_last(rows, "autotuned"),
        held_ms=sum(cause.held_ms for cause in causes if cause.name == path),
    )


def _last(rows: list[dict[str, Any]], name: str) -> Any:
    """Return the value of the latest step that has one."""
    ordered = sorted(rows, key=lambda row: -row["step"])
    return next((row[name] for row in ordered if row[name] is not None), None)
