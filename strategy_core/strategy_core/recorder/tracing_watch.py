"""Detects which `tf.function` is retraced in a step, and which argument caused it.

The program's functions are found once, when its first step is done, among the objects of Python's
garbage collector. From then on each function's public tracing count is compared per step. The
changed argument is read from the signatures that TensorFlow prints.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

from strategy_core.private_tf.frame_names import is_library
from strategy_core.runtime.live_objects import instances
from strategy_profiles.run.events import SHAPE_CHANGES, VALUE_CHANGES, Retraced

MOST_FUNCTIONS = 16
"""Number of functions watched, those with the most traces first.

Each costs a quarter of a microsecond in every step.
"""
MOST_COMPARED = 50
"""Signatures of functions with more than this many are not printed: printing takes long."""
_SHOWN = 3
_TENSOR = re.compile(r"TensorSpec\(shape=(<unknown>|\([^)]*\)), dtype=tf\.(\w+)")


class TracingWatch:
    """Counts traces per step. Use it from the thread that runs the steps."""

    def __init__(self) -> None:
        self._functions: list[tuple[weakref.ref[Any], str]] = []
        self._counts: list[int] = []
        self._counts_before: list[int] = []
        """At the count before the last one."""
        self._argument: dict[int, str | None] = {}
        self._graphs: list[weakref.ref[Any]] = []

    def find(self) -> None:
        """Select the program's live functions and graphs, once the first step is done."""
        import tensorflow as tf

        kind = type(tf.function(lambda: None))
        alive = instances(kind, tf.Graph)
        self._graphs = [weakref.ref(item) for item in alive if isinstance(item, tf.Graph)]
        functions = [item for item in alive if isinstance(item, kind) and _is_programs(item)]
        self.watch(sorted(functions, key=_num_traces, reverse=True)[:MOST_FUNCTIONS])

    def graphs(self) -> list[Any]:
        """The live graphs that `find` has found, None for those that are gone."""
        return [graph() for graph in self._graphs]

    def watch(self, functions: list[Any]) -> None:
        """Count the traces of these functions from now on."""
        # Weak references: a model that the program deletes is freed as without a recorder.
        self._functions = [(weakref.ref(item), _name(item)) for item in functions]
        self.count()

    def step_done(self, segment: int, step: int) -> list[Retraced]:
        """The functions that were traced again in the step.

        The first trace of a function that a later step calls does not count.
        """
        return self.retraced(segment, step) if self.count() else []

    def count(self) -> bool:
        """Count traces. Returns whether there were any since the last count.

        A count at the begin of a step keeps those between two steps, such as an evaluation's, out
        of the count at its end.
        """
        before, counts = self._counts, []
        for item, _ in self._functions:  # twice per step: without calls of Python that it can spare
            function = item()
            counts.append(0 if function is None else function.experimental_get_tracing_count())
        self._counts_before, self._counts = before, counts
        return counts != before

    def retraced(self, segment: int, step: int) -> list[Retraced]:
        """The functions that were traced again between the last two counts, as `step_done`."""
        return [
            Retraced(segment, step, name, again, self._what_changed(at, function()))
            for at, ((function, name), old, now) in enumerate(
                zip(self._functions, self._counts_before, self._counts, strict=True)
            )
            if (again := now - max(old, 1)) > 0
        ]

    def _what_changed(self, at: int, function: Any) -> str | None:
        """Describe the changed argument; reuses the last answer if there are too many
        signatures."""
        if 1 < _num_traces(function) <= MOST_COMPARED:
            try:
                self._argument[at] = what_changed(function.pretty_printed_concrete_signatures())
            except Exception:  # an unprintable signature only costs the reason
                self._argument[at] = None
        return self._argument.get(at)


def what_changed(signatures: str) -> str | None:
    """Describe the arguments that differ between a function's signatures; None if none does.

    `signatures` is the result of `tf.function.pretty_printed_concrete_signatures`.
    """
    every = [_arguments(part) for part in re.split(r"\n\s*\n", signatures)]
    every = [arguments for arguments in every if arguments]
    changed = []
    for name in dict.fromkeys(name for arguments in every for name in arguments):
        values = list(dict.fromkeys(arguments.get(name, "nothing") for arguments in every))
        if len(values) > 1:
            changed.append((name, values))
    if not changed:
        return None
    return "; ".join(_described(name, values) for name, values in changed[:_SHOWN])


def _arguments(signature: str) -> dict[str, str]:
    """The arguments of one printed signature, by name."""
    inside = signature.partition("Input Parameters:")[2].partition("Output Type:")[0]
    arguments = re.findall(r"^ {2,4}(\w+) \([A-Z_]+\): (.+)$", inside, re.MULTILINE)
    return {name: " ".join(value.split()) for name, value in arguments}


def _described(name: str, values: list[str]) -> str:
    literals = [match[1] for value in values if (match := re.match(r"Literal\[(.*)\]$", value))]
    if literals:
        examples = ", ".join(literals[-_SHOWN:])
        return f"argument `{name}` {VALUE_CHANGES} ({examples})"
    examples = ", ".join(_differing_tensors(values[-_SHOWN:]))
    return f"argument `{name}` {SHAPE_CHANGES} ({examples})"


def _differing_tensors(values: list[str]) -> list[str]:
    """The first tensor in which nested values differ, as `float32 (58, 28, 28, 1)`.

    The values as they are if their tensors are not comparable.
    """
    tensors = [_TENSOR.findall(value) for value in values]
    if len({len(each) for each in tensors}) == 1:
        for same_place in zip(*tensors, strict=True):
            if len(set(same_place)) > 1:
                return list(dict.fromkeys(f"{kind} {shape}" for shape, kind in same_place))
    return values


def _is_programs(function: Any) -> bool:
    """Whether to watch a function: it was traced already, or is not one of TensorFlow's helpers."""
    module = str(getattr(function.python_function, "__module__", ""))
    return not is_library(module) or _num_traces(function) > 0


def _num_traces(function: Any) -> int:
    return 0 if function is None else int(function.experimental_get_tracing_count())


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or getattr(function, "name", "a tf.function"))
