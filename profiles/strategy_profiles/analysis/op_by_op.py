"""Does the program run its step op by op, without a `tf.function`?

TensorFlow runs an op that is called eagerly as a graph of this one op. So a segment runs op by op
if its captured steps hold no op of a larger graph (no replica has a captured step), and if at least
`FEWEST_OPS` of the graphs that were placed have a single op beside arguments and results.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.step_function import StepFunction, step_function
from strategy_profiles.analysis.steps import step_times, typical_steps
from strategy_profiles.tables.columns import floats, ints, of_segment, texts
from strategy_profiles.tables.store import Profile

FEWEST_OPS = 4


class OpByOp(Struct, frozen=True):
    """How a segment runs its ops one by one."""

    num_steps: int
    """Typical captured steps."""
    num_ops: int
    """Kinds of ops that were run as graphs of their own."""
    held_ms: float
    """Per step, in TensorFlow's Python; a mean over these steps."""
    wall_ms: float
    """Mean length of these steps."""
    place: str | None
    """The line that calls most of it, as `file:line`."""
    function: StepFunction | None = None
    """The function of the program that does the step."""


def op_by_op(profile: Profile, segment: int) -> OpByOp | None:
    """None if the step is a graph, or was not captured."""
    if of_segment(profile.table("replica_steps"), segment).num_rows:
        return None
    causes = of_segment(profile.table("causes"), segment)
    steps = step_times(profile, segment)
    counted = steps.step[steps.settled]
    is_call = np.array([kind == "call" for kind in texts(causes, "kind")], np.bool_)
    chosen = is_call & np.isin(ints(causes, "step"), counted) if causes.num_rows else is_call
    num_ops = _graphs_of_one_op(profile, segment)
    if not chosen.any() or num_ops < FEWEST_OPS:
        return None
    captured = np.isin(steps.step, np.unique(ints(causes, "step")[chosen]))
    numbers = typical_steps(steps.step[captured], steps.wall_ms[captured])
    chosen &= np.isin(ints(causes, "step"), numbers)
    held = floats(causes, "held_ms")[chosen]
    names = [name for name, is_one in zip(texts(causes, "name"), chosen, strict=True) if is_one]
    by_place: dict[str, float] = {}
    for name, ms in zip(names, held, strict=True):
        by_place[name or ""] = by_place.get(name or "", 0.0) + float(np.nan_to_num(ms))
    return OpByOp(
        num_steps=len(numbers),
        num_ops=num_ops,
        held_ms=float(np.nansum(held)) / len(numbers),
        wall_ms=float(steps.wall_ms[np.isin(steps.step, numbers)].mean()),
        place=max(by_place, key=lambda name: by_place[name]) or None,
        function=step_function(profile, segment),
    )


def _graphs_of_one_op(profile: Profile, segment: int) -> int:
    """Kinds of ops that are alone in their graph; names that begin with `_` are its plumbing."""
    rows = of_segment(profile.table("placement"), segment)
    graphs: dict[str, list[str]] = {}
    columns = (texts(rows, name) for name in ("kind", "function", "op"))
    for kind, function, op in zip(*columns, strict=True):
        if kind == "op" and function and op and not op.startswith("_"):
            graphs.setdefault(function, []).append(op)
    return len({ops[0] for ops in graphs.values() if len(ops) == 1})
