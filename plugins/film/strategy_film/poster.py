"""The moment that a film shows before it plays: one in which picture and caption agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from strategy_film.captions import Stretch, is_noticeable, main_phase
from strategy_film.scene import Caption, Exchange, Node

_MOMENTS = 64


def poster(
    joined: Sequence[Exchange], nodes: Sequence[Node], captions: Sequence[Caption], length_ns: int
) -> int:
    """Return the middle of the longest wait for a last member, else of the longest transfer.

    Both only if they are long enough for a caption. Otherwise it is near the middle of the film,
    where most nodes do what the caption says: it sums a stretch up, and a single moment may be an
    exception.
    """
    exchanges = [item for item in joined if item.source != "derived"]
    waited = max(exchanges, key=_waited_ns, default=None)
    moved = max(exchanges, key=_moved_ns, default=None)
    if waited is not None and is_noticeable(_waited_ns(waited), length_ns):
        entered = sorted(member.entered_ns for member in waited.members)
        middle = (entered[-2] + entered[-1]) // 2
    elif moved is not None and is_noticeable(_moved_ns(moved), length_ns):
        middle = (moved.all_entered_ns + moved.end_ns) // 2
    else:
        middle = length_ns // 2
        return _usual_moment(nodes, _time_of_caption(middle, captions, length_ns), middle)
    return min(max(middle, 0), length_ns)


def _waited_ns(exchange: Exchange) -> int:
    return exchange.all_entered_ns - exchange.first_entered_ns


def _moved_ns(exchange: Exchange) -> int:
    return exchange.end_ns - exchange.all_entered_ns


def _time_of_caption(at_ns: int, captions: Sequence[Caption], length_ns: int) -> Stretch:
    """While the caption that is there at a time stays; the whole film if none is there."""
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
