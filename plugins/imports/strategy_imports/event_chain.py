"""Find where each event of a line begins.

Each event has its length in front, so that its end is known only once its begin is. The chain of a
long line is followed from thousands of places at once: a place is a guess, which a pattern makes,
and it counts only if the chain from the place before ends exactly there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from strategy_profiles.capture.wire import Bytes, read_varints
from strategy_profiles.tables.columns import Ints

EVENTS_TAG = 0x22
"""Field 4 of `XLine`, length-delimited."""
PADDING = b"\0" * 64
"""To be appended to a buffer: the readers look ahead by less than this."""

_BLOCK_BYTES = 1 << 13
_EVENT = re.compile(
    rb"\x22(?:[\x00-\x7f]|[\x80-\xff][\x00-\x7f])\x08[\x80-\xff]{0,4}[\x00-\x7f]\x10", re.DOTALL
)
"""An event of less than 16 KiB that begins with its metadata id and its offset, as all do but those
at offset 0. A stat begins in the same way and never goes on with 0x10."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Positions of events in a buffer, without their tags and lengths."""

    starts: Ints
    ends: Ints
    stop: int
    """The position of the first byte that belongs to none of them."""


def follow(buffer: Bytes, data: bytearray, begin: int, end: int) -> Chain:
    """Return the events that follow each other from `begin`, as far as they end before `end`.

    `data` are the same bytes as `buffer`, which is padded with `PADDING`.
    """
    guesses = _guesses(data, begin, end)
    if len(guesses) < 2:
        return _follow_one(data, begin, end)
    borders = np.append(guesses[1:], end)
    starts_of_all, ends_of_all, counts, reached = _follow_all(buffer, guesses, borders, end)
    if (reached[:-1] == guesses[1:]).all():
        return Chain(starts_of_all, ends_of_all, int(reached[-1]))
    cuts = np.cumsum(counts)[:-1]
    starts, ends = np.split(starts_of_all, cuts), np.split(ends_of_all, cuts)
    parts: list[tuple[Ints, Ints]] = []
    at = begin
    for number, guess in enumerate(guesses.tolist()):
        if at != guess:  # the guess was wrong: go on from where the chain really is
            rest = _follow_one(data, at, int(borders[number]), end)
            parts.append((rest.starts, rest.ends))
            at = rest.stop
        else:
            parts.append((starts[number], ends[number]))
            at = int(reached[number])
        if at < borders[number]:
            break
    starts_of, ends_of = zip(*parts, strict=True)
    return Chain(np.concatenate(starts_of), np.concatenate(ends_of), at)


def _guesses(data: bytearray, begin: int, end: int) -> Ints:
    begins = [begin]
    for middle in range(begin + _BLOCK_BYTES, end - _BLOCK_BYTES, _BLOCK_BYTES):
        match = _EVENT.search(data, middle, middle + _BLOCK_BYTES)
        if match is not None:
            begins.append(match.start())
    return np.asarray(begins, np.int64)


def _follow_one(data: bytearray, begin: int, until: int, end: int | None = None) -> Chain:
    """Follow one chain until it reaches `until`; events end before `end`."""
    last = until if end is None else end
    starts, ends, at = [], [], begin
    while at < until and data[at] == EVENTS_TAG:
        length = shift = 0
        position = at + 1
        while position < last and shift < 35:
            byte = data[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if position + length > last:
            break
        starts.append(position)
        at = position + length
        ends.append(at)
    return Chain(np.asarray(starts, np.int64), np.asarray(ends, np.int64), at)


def _follow_all(
    buffer: Bytes, guesses: Ints, borders: Ints, end: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Follow the chains from all guesses together, each until it reaches its border.

    Returns begins and ends of the events of all chains in turn, the number of events of each chain,
    and where each stopped.
    """
    at = guesses.copy()
    going = np.arange(len(at))
    turns: list[tuple[Ints, Ints, Ints]] = []
    while going.size:
        position = at[going]
        is_event = buffer[position] == EVENTS_TAG
        lengths, first = _lengths(buffer, position + 1)
        after = first + lengths
        is_event &= (lengths >= 0) & (lengths < end) & (after <= end)
        if not is_event.all():
            going, first, after = going[is_event], first[is_event], after[is_event]
        turns.append((going, first, after))
        at[going] = after
        going = going[after < borders[going]]
    chain = np.concatenate([turn[0] for turn in turns])
    few = chain.astype(np.uint16) if len(guesses) < 1 << 16 else chain
    order = np.argsort(few, kind="stable")  # of 16 bits, without comparisons
    starts = np.concatenate([turn[1] for turn in turns])[order]
    ends = np.concatenate([turn[2] for turn in turns])[order]
    return starts, ends, np.bincount(chain, minlength=len(guesses)), at


def _lengths(buffer: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """Return the varint at each position and the position after it; most have one or two bytes."""
    low = buffer[positions]
    high = buffer[positions + 1]
    is_long = low >= 0x80
    if (is_long & (high >= 0x80)).any():
        return read_varints(buffer, positions)
    lengths = (low & 0x7F) + (high.astype(np.int64) * is_long << 7)
    return lengths, positions + 1 + is_long
