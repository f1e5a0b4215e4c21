"""A Keras callback takes a large part of the loop.

## What it does

Takes the time of each callback's methods, by class: 5 % of the loop or more. Says so if the gaps
between steps, of which it takes most, grow.

## Why is this slow

Keras calls callbacks in the thread that trains, and no replica trains meanwhile.

## What to do

Let the callback do less, or only every few steps or epochs: `save_freq` of `ModelCheckpoint`,
`histogram_freq` and `update_freq` of `TensorBoard`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.line_advice import advice_on_line
from strategy_profiles.analysis.advice.rows import (
    at_line,
    cost_of,
    how_long,
    large_rows,
    main_line,
    said_of_growth,
)
from strategy_profiles.analysis.advice.rules import (
    checkpoint,
    growing_steps,
    prediction,
    validation,
)
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.growth import growth

KEY = "callback"
ROWS = ("loop/between/callback",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."
LIST = "Keras's list of callbacks, or the freeing of what they made,"
CALL_LESS = "Call it for several steps at once: `steps_per_execution` of `compile()`."
_OF_KERAS = {
    "ModelCheckpoint": (
        "Save less often (`save_freq`, which counts batches), or `save_weights_only=True`."
    ),
    "BackupAndRestore": "Save less often: `save_freq`.",
    "TensorBoard": "Write less: `histogram_freq=0`, `update_freq='epoch'`, no `profile_batch`.",
    "ProgbarLogger": "Print less: `verbose=2` prints one line an epoch.",
}


_OF_CALLS = {
    r"\.predict_on_batch\(": prediction.ON_BATCHES,
    r"\.predict\w*\(": prediction.ADVICE,
    r"\.(test|evaluate)\w*\(": validation.OF_EVALUATE,
    r"\.(save\w*|write)\(": checkpoint.ADVICE,
}
"""By what the callback's longest line calls."""


def find(facts: Facts) -> Iterator[Finding]:
    longest = max(
        facts.account.children("loop/between"), key=lambda row: row.total_ms, default=None
    )
    for row in large_rows(facts, "callback"):
        name, line = row.call, main_line(facts, row)
        grown = growth(facts.between.gaps_ms) if row is longest else None
        yield finding(
            facts,
            KEY,
            f"{f'The callback {name}' if name else LIST} takes "
            f"{how_long(facts, row)}{at_line(facts, row)}.{said_of_growth(grown)}",
            _advice(facts, name, line, grows=grown is not None) if name else CALL_LESS,
            cost_of(facts, row),
            place=row.place,
            callback=name,
        )


def _advice(facts: Facts, name: str, line: Row, *, grows: bool) -> str:
    if name in _OF_KERAS:
        made = facts.said_at(f"{name}(")
        return f"{_OF_KERAS[name]}{f' It is made{made}.' if made else ''}"
    of_call = (words for call, words in _OF_CALLS.items() if re.search(call, line.text or ""))
    if advice := next(of_call, None):
        return advice
    less = f"Let {name} do less, or only every few steps or epochs."
    of_line = advice_on_line(facts, line) or (growing_steps.ADVICE if grows else None)
    return f"{less} {of_line}" if of_line else less
