"""Which calls of a step, outside of its function, copy arrays into tensors?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import regions_of, samples_at
from strategy_profiles.run.event_parts import StackFrame

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

MAKE_TENSORS = ("constant", "convert_to_tensor", "convert_to_tensor_v2_with_dispatch")
"""What TensorFlow's functions are called that make a tensor of an array or a list."""
FEWEST_SAMPLES = 10


class ArrayCopies(Struct, frozen=True):
    """Copies of arrays in steps of the program."""

    share: float
    """Of the time of the steps."""
    line: StackFrame
    """The line with most of them."""


def array_copies(profile: Profile, segment: int) -> ArrayCopies | None:
    """What was sampled in the steps of a segment; None if there are too few samples of it."""
    regions = regions_of(profile, segment)
    if regions is None or not regions.is_step.any():
        return None
    stacks = regions.stacks
    copies = [
        place.call in MAKE_TENSORS and place.doing != "function" and bool(place.frames)
        for place in stacks.places
    ]
    chosen = regions.is_step & samples_at(stacks, copies)
    if chosen.sum() < FEWEST_SAMPLES:
        return None
    of_place = np.bincount(stacks.place[chosen], stacks.for_ms[chosen])
    share = float(of_place.sum() / stacks.for_ms[regions.is_step].sum())
    return ArrayCopies(share, stacks.places[int(of_place.argmax())].frames[-1])
