"""What do the steps of a program spend outside of the function of the step?

Copies of arrays into tensors, and ops that Python runs one by one beside it, as an optimizer's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import regions_of, samples_at
from strategy_profiles.run.event_parts import StackFrame, StackPlace
from strategy_profiles.tables.store import Profile, once

MAKE_TENSORS = ("constant", "convert_to_tensor", "convert_to_tensor_v2_with_dispatch")
"""What TensorFlow's functions are called that make a tensor of an array or a list."""
FEWEST_SAMPLES = 10


class OutsideFunction(Struct, frozen=True):
    """A kind of work in steps of the program."""

    share: float
    """Of the time of the steps."""
    line: StackFrame
    """The line with most of it."""


@once
def array_copies(profile: Profile, segment: int) -> OutsideFunction | None:
    """The calls that copy arrays into tensors; None if there are too few samples of them."""
    return _sampled(
        profile,
        segment,
        lambda places: [
            place.call in MAKE_TENSORS and place.doing != "function" for place in places
        ],
    )


@once
def single_ops(profile: Profile, segment: int) -> OutsideFunction | None:
    """The ops that Python runs one by one, with TensorFlow's and Keras's Python around them; None
    if there are too few samples of them."""
    return _sampled(profile, segment, _run_ops)


def _run_ops(places: Sequence[StackPlace]) -> list[bool]:
    calls = {
        _called(place)
        for place in places
        if place.doing == "op" and place.call not in MAKE_TENSORS and not _is_of_keras(place)
    }
    return [place.doing in ("op", "call") and _called(place) in calls for place in places]


def _is_of_keras(place: StackPlace) -> bool:
    """Whether Keras's own loop runs an op, as for the logs of `fit`."""
    return bool(place.within) or place.call.endswith((".fit", "_on_batch"))


def _called(place: StackPlace) -> tuple[str, int, str]:
    line = place.frames[-1] if place.frames else None
    return (line.file, line.line, place.call) if line else ("", 0, place.call)


def _sampled(
    profile: Profile, segment: int, choose: Callable[[Sequence[StackPlace]], list[bool]]
) -> OutsideFunction | None:
    regions = regions_of(profile, segment)
    if regions is None or not regions.is_step.any():
        return None
    stacks = regions.stacks
    are_chosen = zip(stacks.places, choose(stacks.places), strict=True)
    with_line = [is_chosen and bool(place.frames) for place, is_chosen in are_chosen]
    chosen = regions.is_step & samples_at(stacks, with_line)
    if chosen.sum() < FEWEST_SAMPLES:
        return None
    of_place = np.bincount(stacks.place[chosen], stacks.for_ms[chosen])
    share = float(of_place.sum() / stacks.for_ms[regions.is_step].sum())
    return OutsideFunction(share, stacks.places[int(of_place.argmax())].frames[-1])
