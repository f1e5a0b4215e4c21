"""The moment that a film shows before it plays: a long wait, in which picture and caption agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from strategy_lab.profiles.film.captions import Stretch, main_phase
from strategy_lab.profiles.film.scene import Caption, Exchange, Node

_MOMENTS = 64


def poster(
    joined: Sequence[Exchange], nodes: Sequence[Node], captions: Sequence[Caption], length_ns: int
) -> int:
    """Return the middle of the longest wait for a last member.

    Without such a wait it is near the middle of the film, where most nodes do what the caption
    says: it sums a stretch up, and a single moment may be an exception.
    """
    waited = [item for item in joined if item.source != "derived"]
    longest = max(waited, key=lambda e: e.all_entered_ns - e.first_entered_ns, default=None)
    if longest is None:
        middle = length_ns // 2
        return _usual_moment(nodes, _said_at(middle, captions, length_ns), middle)
    entered = sorted(member.entered_ns for member in longest.members)
    return min(max((entered[-2] + entered[-1]) // 2, 0), length_ns)


def _said_at(at_ns: int, captions: Sequence[Caption], length_ns: int) -> Stretch:
    edges = [*(caption.start_ns for caption in captions), length_ns]
    return next(
        (Stretch(start, end) for start, end in pairwise(edges) if start <= at_ns < end),
        Stretch(0, length_ns),
    )


def _usual_moment(nodes: Sequence[Node], said: Stretch, middle: int) -> int:
    usual = [main_phase(node, said) for node in nodes]
    moments = np.linspace(said.start_ns, said.end_ns, _MOMENTS + 2).astype(np.int64)[1:-1].tolist()

    def rank(at_ns: int) -> tuple[int, int]:
        now = Stretch(at_ns, at_ns + 1)
        agreeing = sum(
            main_phase(node, now) == phase for node, phase in zip(nodes, usual, strict=True)
        )
        return agreeing, -abs(at_ns - middle)

    return int(max(moments, key=rank))
