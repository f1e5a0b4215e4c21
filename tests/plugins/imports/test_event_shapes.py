"""Events that are decoded together are those that are decoded one field after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest

from strategy_imports import event_shapes
from strategy_imports.event_chain import PADDING
from strategy_imports.event_columns import EventColumns, EventDecoder
from strategy_imports.event_shapes import Shapes
from strategy_imports.inline_texts import InlineTexts
from strategy_imports.xplane_file import KindTable
from tests.profiles.capture.xspace_builder import varint

WANTED = {1: "correlation_id", 2: "tf_op", 300: "name"}
KINDS = KindTable([1, 5, 200, 300], [False, True, False, False])


def made_event(rng: random.Random) -> bytes:
    """Return an event with stats of every type, some of which are omitted."""
    out = b"\x08" + varint(rng.choice((1, 1, 1, 5, 200, 300, 999)))
    out += rng.choice((b"", b"\x10" + varint(rng.randrange(2 ** rng.choice((7, 30, 62, 64))))))
    out += b"\x18" + varint(rng.randrange(2 ** rng.choice((3, 14, 28))))
    for stat in rng.sample((1, 2, 7, 300), rng.randrange(4)):
        value = rng.choice(
            (
                rng.choice((b"\x18", b"\x20", b"\x38")) + varint(rng.randrange(2**20)),
                b"\x20" + varint(2**64 - rng.randrange(1, 9)),
                b"\x11" + rng.randbytes(8),
                b"\x2a\x03abc",
                b"",
            )
        )
        body = b"\x08" + varint(stat) + value
        out += b"\x22" + varint(len(body)) + body
    return out


def decoded(
    events: list[bytes], *, reads_texts: bool
) -> tuple[EventColumns, dict[str, list[int | str]]]:
    """Return the columns, and the stats with the texts that events hold themselves."""
    lengths = np.asarray([len(event) for event in events])
    ends = np.cumsum(lengths)
    buffer = np.frombuffer(b"".join(events) + PADDING, np.uint8)
    texts = InlineTexts(1 << 62)
    shapes = Shapes(WANTED, ("tf_op", "name") if reads_texts else ())
    decoder = EventDecoder(WANTED, KINDS.find, shapes, texts if reads_texts else None)
    columns = decoder.read(buffer, ends - lengths, ends)
    known = texts.by_number()
    stats = {
        name: [known.get(value, value) for value in column.tolist()]
        for name, column in columns.stats.items()
    }
    return columns, stats


@pytest.mark.parametrize("reads_texts", [False, True])
@pytest.mark.parametrize("share_damaged", [0.0, 0.05])
def test_decoding_by_shape_changes_nothing(
    share_damaged: float, reads_texts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    kinds_of_events = [made_event(rng) for _ in range(60)]
    events = []
    for _ in range(20_000):
        event = bytearray(rng.choice(kinds_of_events))
        if rng.random() < share_damaged:
            event[rng.randrange(len(event))] ^= 1 << rng.randrange(8)
        events.append(bytes(event))
    by_shape, stats = decoded(events, reads_texts=reads_texts)
    monkeypatch.setattr(event_shapes, "_LONGEST", 0)
    one_by_one, same_stats = decoded(events, reads_texts=reads_texts)
    assert len(by_shape) == len(one_by_one) > 5_000
    for name in ("kind", "offset_ps", "duration_ps"):
        assert np.array_equal(getattr(by_shape, name), getattr(one_by_one, name)), name
    assert stats == same_stats
    assert ("abc" in stats["name"]) == ("abc" in stats["tf_op"]) == reads_texts
    assert "abc" not in stats["correlation_id"]


def test_most_events_of_few_kinds_have_a_shape() -> None:
    rng = random.Random(4)
    kinds_of_events = [made_event(rng) for _ in range(20)]
    events = [rng.choice(kinds_of_events) for _ in range(5_000)]
    ends = np.cumsum([len(event) for event in events])
    starts = np.append(0, ends[:-1])
    buffer = np.frombuffer(b"".join(events) + PADDING, np.uint8)
    groups = list(Shapes(WANTED).split(buffer, starts, ends))
    shaped = sum(len(index) for shape, index, _ in groups if shape is not None)
    assert shaped > 4_500
    assert sorted(np.concatenate([index for _, index, _ in groups])) == list(range(5_000))
