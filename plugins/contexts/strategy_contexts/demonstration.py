"""Run a demonstration, or a user's program in its place, and record its contexts.

A demonstration is a program that defines `demonstrate(strategy)`. Its output is part of the
recording.
"""

from __future__ import annotations

import builtins
import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

from strategy_contexts.explain import explain
from strategy_contexts.record import Recording, recording_of
from strategy_contexts.trace import ContextTrace
from strategy_contexts.tracer import trace_contexts
from strategy_core import strategies
from strategy_core.planning import collective_algorithms, device_plan
from strategy_core.runtime import logical_devices
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec


def record(source: str, strategy: tf.distribute.Strategy, file: Path) -> Recording:
    """Execute `source` under `strategy` and record it.

    `source` is also kept in `file`, so that its lines can be found on the stack. An error of the
    program becomes part of the recording. Raises SpecError only if `source` has a syntax error or
    does not define `demonstrate`.
    """
    file.write_text(source, encoding="utf-8")
    module = _module(source, file)
    failure: dict[str, Any] | None = None
    with trace_contexts() as trace, _prints_into(trace):
        try:
            module.demonstrate(strategy)
        except Exception as error:
            failure = _failure(error, trace, file)
    return recording_of(trace, file, devices=_devices(strategy), error=failure)


def strategy_of(spec: RunSpec) -> tf.distribute.Strategy:
    """The strategy of `spec` on this process's logical devices; raises SpecError."""
    planned = device_plan.plan(spec, logical_devices.inventory())
    return strategies.build(spec, planned.names, collective_algorithms.decide(spec, planned))


def _devices(strategy: tf.distribute.Strategy) -> list[str]:
    try:
        return list(strategy.extended.worker_devices)
    except RuntimeError:  # the default strategy leaves placement to TensorFlow
        return []


def _module(source: str, file: Path) -> ModuleType:
    module = ModuleType(f"demonstration_{file.stem}")
    module.__file__ = str(file)
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except SyntaxError as error:
        raise SpecError(
            f"The program is not valid Python: {error.msg} (line {error.lineno})"
        ) from None
    if not callable(getattr(module, "demonstrate", None)):
        raise SpecError(f"{file.name} has no function demonstrate(strategy)")
    return module


@contextlib.contextmanager
def _prints_into(trace: ContextTrace) -> Iterator[None]:
    original: Callable[..., None] = builtins.print

    def noted(*values: Any, sep: str = " ", end: str = "\n", **options: Any) -> None:
        with trace.paused():
            text = sep.join(map(str, values))
        trace.print(text)
        original(text, end=end, **options)

    builtins.print = noted  # type: ignore[assignment]
    try:
        yield
    finally:
        builtins.print = original


def _failure(error: Exception, trace: ContextTrace, file: Path) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    explained = explain(error, trace)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "line": lines[-1] if lines else None,
        "explanation": asdict(explained) if explained else None,
    }
