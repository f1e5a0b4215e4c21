"""An edit of a step as a short text, for the address of a page: `remove-delay,link=2`.

    remove-delay | input-free | straggler | overlapped | faster:KIND=TIMES | link=TIMES |
    packs=BYTES | algorithm=NAME | batch=N

Several edits are separated by commas. `TIMES` may be `inf`. The text names the change only: what an
edit takes from the recording (which replica is late, the latency of a link) is read from it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.user_input.text import whole_or_none
from strategy_replay.engine.batch_edit import OtherBatch
from strategy_replay.engine.batch_fit import batch_change
from strategy_replay.engine.collective_edits import (
    FasterLink,
    OtherPacks,
    faster_link,
    other_packs,
)
from strategy_replay.engine.edits import AverageReplica, Edit, Faster, InputFree, RemoveDelay
from strategy_replay.engine.other_algorithm import OtherAlgorithm, other_algorithm
from strategy_replay.engine.overlapped import Overlapped, overlapped
from strategy_replay.engine.replays import replays
from strategy_replay.engine.straggler import average_straggler

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

MOST_CHARACTERS = 400
MOST_EDITS = 10
_MOST = 10**15
_ADVICE = (
    "Write remove-delay, input-free, straggler, overlapped, faster:Conv2D=2, link=2, "
    "packs=1000000, algorithm=tree or batch=512, several with commas between them"
)
_PLAIN: dict[str, Callable[[], Edit]] = {"remove-delay": RemoveDelay, "input-free": InputFree}
_STRAGGLER, _OVERLAPPED = "straggler", "overlapped"
_FASTER = "faster:"


def text_of(edits: Sequence[Edit]) -> str | None:
    """Return the text of these edits; None if one of them has none."""
    texts = [_text(edit) for edit in edits]
    return None if None in texts else ",".join(filter(None, texts))


def edits_of(profile: Profile, segment: int, text: str) -> tuple[Edit, ...]:
    """Return the edits that a text names.

    Raises ReplayError if it names none, or one that the recording does not allow.
    """
    if len(text) > MOST_CHARACTERS:
        raise ReplayError(
            f"The text of an edit has {len(text)} characters, and at most {MOST_CHARACTERS} are "
            "read",
            advice=_ADVICE,
        )
    parts = text.split(",")
    if len(parts) > MOST_EDITS:
        raise ReplayError(f"{len(parts)} edits are too many: at most {MOST_EDITS} are applied")
    return tuple(_edit(profile, segment, part.strip()) for part in parts)


def _text(edit: Edit) -> str | None:
    text = None
    match edit:
        case RemoveDelay():
            text = "remove-delay"
        case InputFree():
            text = "input-free"
        case AverageReplica():
            text = _STRAGGLER
        case Overlapped():
            text = _OVERLAPPED
        case Faster() if not {",", "="} & set(edit.kind):
            text = f"{_FASTER}{edit.kind}={edit.times:.12g}"
        case FasterLink():
            text = f"link={edit.times:.12g}"
        case OtherPacks():
            text = f"packs={edit.bytes_per_pack}"
        case OtherAlgorithm():
            text = f"algorithm={edit.algorithm}"
        case OtherBatch():
            text = f"batch={edit.batch}"
    return text


def _edit(profile: Profile, segment: int, text: str) -> Edit:
    if text in _PLAIN:
        return _PLAIN[text]()
    if text == _STRAGGLER:
        return average_straggler(profile, segment)
    if text == _OVERLAPPED:
        return overlapped(replays(profile, segment))
    name, _, value = text.partition("=")
    if name.startswith(_FASTER) and name != _FASTER:
        return Faster(name.removeprefix(_FASTER), _times(text, value))
    if name not in _WITH_VALUE:
        raise ReplayError(f"{text!r} names no edit of a step", advice=_ADVICE)
    return _WITH_VALUE[name](profile, segment, text, value)


def _link(profile: Profile, segment: int, text: str, value: str) -> Edit:
    return faster_link(replays(profile, segment), _times(text, value))


def _packs(profile: Profile, segment: int, text: str, value: str) -> Edit:
    return other_packs(replays(profile, segment), _whole(text, value, least=0))


def _batch(profile: Profile, segment: int, text: str, value: str) -> Edit:
    return batch_change(profile, segment, _whole(text, value, least=1))


def _algorithm(profile: Profile, segment: int, _text: str, value: str) -> Edit:
    return other_algorithm(replays(profile, segment), value)


_WITH_VALUE = {"link": _link, "packs": _packs, "algorithm": _algorithm, "batch": _batch}


def _times(text: str, value: str) -> float:
    try:
        times = float(value)
    except ValueError:
        times = math.nan
    if not 1 / _MOST <= times <= _MOST and times != math.inf:
        raise ReplayError(f"{text!r} has no number above 0 after the equals sign", advice=_ADVICE)
    return times


def _whole(text: str, value: str, least: int) -> int:
    number = whole_or_none(value)
    if number is None or not least <= number <= _MOST:
        raise ReplayError(
            f"{text!r} has no whole number from {least} after the equals sign", advice=_ADVICE
        )
    return number
