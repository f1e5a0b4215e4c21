"""Divides the computation of captured steps by layer and type of op."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from strategy_profiles.analysis.scopes import layer_of, models, scoped
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.run.op_scopes import loop_in, plain
from strategy_profiles.run.tensorflow_names import type_as_written
from strategy_profiles.tables.columns import Ints, codes, distinct, ints, of_segment, of_steps
from strategy_profiles.tables.store import Profile, once

_Of = tuple[str | None, bool, str | None]
"""Line, whether it is trained, and loop of an op."""


class OpTime(Struct, frozen=True):
    """What one type of op takes in one layer."""

    layer: str | None
    op: str
    share: float
    """Of the time of all ops of replicas that compute."""
    line: str | None = None
    """File and line of the program that made the longest of the ops, as in the placement table."""
    trains: bool = False
    """Whether they are gradients, or gradients of their layer are computed."""
    loop: str | None = None
    """The loop of the graph that the longest of the ops belong to, as `loop_in` names it."""


def computing_spans(profile: Profile, segment: int, steps: Ints | None = None) -> pa.Table:
    """The ops of replicas that compute, of these steps, or of the typical captured ones."""
    steps = typical_captured_steps(profile, segment) if steps is None else steps
    columns = ("segment", "step", "replica", "name", "op", "category", "duration_ns")
    rows = of_segment(of_steps(profile.columns("spans", columns), set(steps.tolist())), segment)
    is_own = pc.equal(rows["category"].cast(pa.string()), "compute")
    return rows.filter(pc.and_(is_own, rows["replica"].is_valid()))


def at_place(line: str | None) -> str:
    """` at train.py:12`, of a line with the folders of its file; empty if it is not known."""
    return f" at {line.rpartition('/')[2]}" if line else ""


@once
def op_times(profile: Profile, segment: int) -> tuple[OpTime, ...]:
    """The ops of the typical captured steps, the longest first; empty without captures."""
    every = lengths_of_ops(profile, segment)
    if not every:
        return ()
    names, ops, lengths = zip(*every, strict=True)
    paths = [scoped(name) for name in names]
    of_models = models(paths)
    line_of = lines_of_ops(profile, segment)
    layers = [layer_of(path, of_models) for path in paths]
    trained = {layer for layer, path in zip(layers, paths, strict=True) if path.is_gradient}
    parts_of: dict[tuple[str | None, str], Counter[_Of]] = defaultdict(Counter)
    for name, layer, op, length in zip(names, layers, ops, lengths, strict=True):
        kind = type_as_written(op or "")
        named = None if layer is not None and layer.startswith(kind) else layer
        of = line_of.get(name), layer is not None and layer in trained, loop_in(name)
        parts_of[named, kind][of] += length
    whole = float(sum(lengths)) or 1.0
    times = [_op_time(*key, parts, whole) for key, parts in parts_of.items()]
    return tuple(sorted(times, key=lambda time: -time.share))


@once
def lengths_of_ops(profile: Profile, segment: int) -> tuple[tuple[str, str, int], ...]:
    """The name, the type and the time in ns of each op of the typical captured steps, all of its
    spans together; empty without captures."""
    spans = computing_spans(profile, segment)
    names, ops, number = distinct_ops(spans)
    lengths = np.bincount(number, ints(spans, "duration_ns")).tolist()
    return tuple(zip(names, ops, lengths, strict=True))


def distinct_ops(spans: pa.Table) -> tuple[list[str], list[str], Ints]:
    """Return the name and the type of each op that ran, and by span the number of its op."""
    (name, all_names), (op, all_ops) = codes(spans, "name"), codes(spans, "op")
    pairs, number = distinct(name * len(all_ops) + op)
    names = [all_names[each] for each in (pairs // max(1, len(all_ops))).tolist()]
    ops = [all_ops[each] for each in (pairs % max(1, len(all_ops))).tolist()]
    return names, ops, number


def _op_time(layer: str | None, op: str, parts: Counter[_Of], whole: float) -> OpTime:
    return OpTime(layer, op, float(parts.total()) / whole, *parts.most_common(1)[0][0])


@once
def lines_of_ops(profile: Profile, segment: int) -> dict[str, str]:
    """The line that made each op, by the op's name."""
    placed = profile.columns("placement", ("segment", "name", "source_line"))
    rows = of_segment(placed, segment)
    line_of = dict(zip(rows["name"].to_pylist(), rows["source_line"].to_pylist(), strict=True))
    known = {name: line for name, line in line_of.items() if line}
    ends: dict[str, set[str]] = defaultdict(set)
    for name, line in known.items():
        ends[name.partition("/")[2] or name].add(line)
    for name, line in line_of.items():
        of = None if line else _GRADIENT_OF.search(name)
        if of and len(lines := ends.get(of[1], set())) == 1:
            known[name] = next(iter(lines))
    return known


_GRADIENT_OF = re.compile(r"(?:^|/)gradients/(.+)_grad/")
"""Of an op of the gradient of a nested function: the op that it is the gradient of. TensorFlow
records no line of such ops."""
_NUMBER = re.compile(r"/_\d+/")
"""Of the function of a branch that the runtime inlined, which has another one on each replica."""


def line_of_loop(lines: Mapping[str, str], loop: str) -> str | None:
    """The line of a loop, as it is named on any replica: that of its condition, else of most of its
    ops, some of which are made where its gradient is asked for."""
    begin = _NUMBER.sub("/", f"{plain(loop)}/")
    of_loop, of_condition = Counter[str](), Counter[str]()
    for name, line in lines.items():
        own = _NUMBER.sub("/", plain(name))
        if own.startswith(begin) and "gradient_tape/" not in name:
            of_loop[line] += 1
            of_condition[line] += own.startswith(f"{begin}cond/")
    chosen = of_condition if of_condition.total() else of_loop
    return chosen.most_common(1)[0][0] if chosen else None
