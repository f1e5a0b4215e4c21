"""How long would a step take with something changed, and what decides how long it takes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.answers.answer import Answer, Bold, Column, Table, table
from strategy_profiles.reporting import units
from strategy_replay.engine.path_shares import PathShare
from strategy_replay.engine.sentences import (
    between,
    error_sentence,
    in_another_run,
    in_this_run,
    spread_sentence,
    unlike_sentence,
)
from strategy_replay.engine.what_if import WhatIf
from strategy_replay.whatif.slowdowns import LEAST, Slowdowns

MOST_OPS = MOST_KINDS = 15
_PATH = (
    "The chain of ops, launch gaps and transfers that decides how long the step takes: only what "
    "is on it makes the step shorter, until another chain is the longest."
)
_S = (
    "S is the replayed step over an ideal one, in which each replica takes the mean of the "
    "replicas for the ops of a type, and the median for delays and transfers. S_t leaves the ops "
    "of type t as they are, S_w replica w."
)


_SLOWDOWNS = (
    Column("figure", "Figure", value=lambda row: row[0]),
    Column("of", "Of", "name", value=lambda row: row[1]),
    Column("times", "Times an ideal step", "number", value=lambda row: row[2]),
)
_PREDICTED = (
    Column("change", "A step", "names", value=lambda item: units.listed(item.edits)),
    Column("predicted_ms", "Predicted", "ms"),
    Column("interval", "In another run", "figure", is_aside=True, value=between),
    Column("recorded", "In this run", "figure", value=in_this_run),
    Column("speedup", "Times as fast", "number", "By examples, if their number changes."),
    Column(
        "told",
        "No effect",
        definition="The interval of this run includes the measured step.",
        value=lambda item: "possible" if item.is_within_error else "",
    ),
)
_ON_PATH = (
    Column("kind", "Kind"),
    Column("op", "Op type", "name"),
    Column("num", "Count", "count"),
    Column("total_ms", "Time", "ms"),
    Column("share", "Share", "share"),
    Column("slack_ms", "Slack", "ms", "The least of ops of this type that are not on the path."),
)


def predictions(base: WhatIf, predicted: Sequence[WhatIf], median_ms: float | None) -> Answer:
    """Return the predicted steps beside the measured one.

    Args:
      base: the replay without a change.
      median_ms: of the steps without a capture.
    """
    notes = (
        spread_sentence(base),
        *dict.fromkeys(text for item in predicted for text in item.advice),
    )
    steps = table("predictions", "Predicted steps", predicted, _PREDICTED, notes=notes)
    unlike = unlike_sentence(base, median_ms)
    return Answer(
        "what_if",
        tuple(_saving(base, predicted)),
        parts=(steps,) if predicted else (),
        notes=(error_sentence(base),),
        warnings=(unlike,) if unlike else (),
    )


def _saving(base: WhatIf, predicted: Sequence[WhatIf]) -> Iterator[str]:
    """The change that saves most, of those that the replay can tell from none."""
    yield "The median captured step takes "
    yield Bold(units.milliseconds(base.measured_ms))
    best = next((item for item in predicted if not item.is_within_error), None)
    if best is not None:
        yield f"; {units.listed(best.edits)} it would take "
        yield Bold(units.milliseconds(best.predicted_ms))
        yield f" ({in_another_run(best)})."
    elif predicted:
        yield (
            ". No change that was tried is sure to have an effect: the interval of each includes "
            "the measured step."
        )
    else:
        yield "."


def critical_path(shares: Sequence[PathShare]) -> Table:
    """Return what the critical path of a step consists of, the longest first."""
    most, rest = list(shares[:MOST_KINDS]), shares[MOST_KINDS:]
    if rest:
        num, total_ms = sum(item.num for item in rest), sum(item.total_ms for item in rest)
        name, share = units.counted(len(rest), "other kind"), sum(item.share for item in rest)
        most.append(PathShare(name, "", num, total_ms, share, None))
    title = "Critical path of the step of median length"
    return table("path", title, most, _ON_PATH, definition=_PATH)


def slower(slowdowns: Slowdowns) -> Table:
    """Return what differences between replicas cost: in all, by type of op, by replica."""
    rows = [("S", "all replicas", slowdowns.whole)]
    rows += [("S_t", op, value) for op, value in list(slowdowns.by_op.items())[:MOST_OPS]]
    rows += [("S_w", f"replica {each}", value) for each, value in slowdowns.by_replica.items()]
    is_equal = slowdowns.whole < LEAST
    return table(
        "slowdowns",
        "What differences between replicas cost",
        () if is_equal else rows,
        _SLOWDOWNS,
        empty="The replicas take as long as each other: S is 1.00.",
        definition=_S,
        depths=() if is_equal else (0, *[1] * (len(rows) - 1)),
    )
