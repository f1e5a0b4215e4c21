"""Checks a traced step against what a real TPU's compiler accepts, without running it.

1. Every op's type is looked up in XLA's kernels. An op without a kernel runs on the TPU's host with
   soft placement (TensorFlow's default), and is refused without it.
2. The other ops go through TensorFlow's bridge to XLA with the shapes of this trace. It finds
   problems that do not follow from types: sizes that depend on data, lists without a bound.
"""

from __future__ import annotations

import linecache
import sysconfig
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from msgspec import structs

import strategy_core
from strategy_core.private_tf import error_texts
from strategy_profiles.run.event_parts import TpuFinding, TpuOutcome
from strategy_tpu.xla import advice, kernels
from strategy_tpu.xla.advice import Advice
from strategy_tpu.xla.cluster_def import ClusterDef
from strategy_tpu.xla.lowering import Refusal, first_line, is_about_shapes, lower

_ENGINE = Path(strategy_core.__file__).parent
_LIBRARIES = tuple(
    f"{folder}/"
    for folder in (
        Path(tf.__file__).parent,
        Path(keras.__file__).parent,
        _ENGINE,
        Path(__file__).parents[1],
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    )
)
"""Code that is not the user's: TensorFlow, Keras, the lab, and all installed packages."""

_WORKLOADS = f"{_ENGINE / 'workloads'}/"

_MARKS = f"{_ENGINE / 'recorder' / 'marks.py'}"


class SourceLine(NamedTuple):
    file: str | None
    line: int | None
    code: str | None


@cache
def is_library(file: str) -> bool:
    """Whether a file belongs to a library or the lab."""
    if file.startswith(_WORKLOADS):
        return False
    return file.startswith((*_LIBRARIES, "<")) or "/tmp/__autograph_generated_file" in file


def is_measurement(op: Any) -> bool:
    """Whether an op computes or joins the recorder's timestamps, and is not part of the program."""
    if any(frame.filename == _MARKS for frame in op.traceback or ()):
        return True
    return bool(op.inputs) and all(tensor.op.type == "Timestamp" for tensor in op.inputs)


def line_of(op: Any) -> SourceLine:
    """Innermost frame of the user's own code on the stack that created `op`."""
    for frame in reversed(list(op.traceback)) if op is not None and op.traceback else []:
        if not is_library(frame.filename):
            # AutoGraph puts the program's file and line into the frames of what it generated, and
            # no text.
            code = frame.line or linecache.getline(frame.filename, frame.lineno)
            return SourceLine(frame.filename, frame.lineno, code.strip() or None)
    return SourceLine(None, None, None)


_BOUNDED = frozenset(("Where", "Unique", "UniqueV2", "NonMaxSuppressionV4"))
"""Ops with a result whose size depends on the data, which XLA can compile."""

_CALLS = frozenset(("PartitionedCall", "StatefulPartitionedCall"))
_FREE = frozenset(("Const", "Identity"))
_FLOAT64 = tf.float64.as_datatype_enum


@dataclass(slots=True)
class XlaCheck:
    """XLA's result for one trace of a step."""

    findings: list[TpuFinding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """What could not be checked, one sentence each."""
    num_ops: int = 0
    """Number of ops that were looked up, including those in function bodies."""
    lookup_ms: float = 0.0
    lowering_ms: float | None = None
    """Time that XLA's bridge took; None if it was not called."""

    def of(self, outcome: TpuOutcome) -> list[TpuFinding]:
        return [each for each in self.findings if each.outcome == outcome]


def check(cluster: Any, outer: Any, outputs: Sequence[tf.Tensor], device: str) -> XlaCheck:
    """What a TPU would do with `cluster`, whose results are `outputs`.

    Args:
      cluster: the FuncGraph that `tpu.replicate` traced into.
      outer: the graph around it.
      outputs: tensors of the cluster's graph that the caller reads.
      device: the device of replica 0's first core, whose variables are inspected.
    """
    with tf.init_scope():  # a graph has its own default, which differs from the one outside
        is_soft = tf.config.get_soft_device_placement()
    started = time.perf_counter()
    definition = ClusterDef(cluster, outer, outputs)
    result = XlaCheck()
    stubbed: dict[str, set[str]] = {}
    raw: list[TpuFinding] = []
    for scope, node in definition.nodes():
        result.num_ops += 1
        if node.op in definition.scopes or node.op in _CALLS or _is_only_text(node):
            continue
        op = scope.ops[node.name]
        finding = _look_up(node, op, is_soft)
        if finding is not None and not is_measurement(op) and not _is_text_of_print(op):
            raw.append(finding)
        if finding is not None and finding.outcome != "slow":
            stubbed.setdefault(scope.name, set()).add(node.name)
    looked_up = time.perf_counter()
    result.lookup_ms = (looked_up - started) * 1e3
    lowering = lower(definition, stubbed, device)
    result.lowering_ms = (time.perf_counter() - looked_up) * 1e3
    raw += [_refused(refusal) for refusal in lowering.refusals]
    result.findings = _by_line(_without_passing_on(raw))
    if lowering.unchecked is not None:
        result.unchecked.append(
            f"the shapes of {'the rest of ' if raw else ''}the step, because {lowering.unchecked}"
        )
    return result


def _look_up(node: Any, op: tf.Operation, is_soft: bool) -> TpuFinding | None:
    """A finding that follows from the type of an op, or None."""
    if "_xla_outside_compilation" in node.attr:
        by_program = Advice("the program puts it there", "It adds a transfer to each step")
        return structs.replace(_finding("on_host", op, by_program), is_asked_for=True)
    why = kernels.unsupported(node)
    if why is not None:
        return _host_finding(op, why, is_soft)
    if node.op in _BOUNDED:
        return _finding("slow", op, advice.BOUNDED)
    if node.op not in _FREE and any(v.type == _FLOAT64 for v in node.attr.values()):
        return _finding("slow", op, advice.FLOAT64)
    return None


def _is_text_of_print(op: tf.Operation) -> bool:
    """Whether `tf.print` made this op for its text: what a TPU does with the print says it all."""
    users = [each for output in op.outputs for each in output.consumers()]
    is_format = op.type == "StringFormat"
    return is_format and bool(users) and all(each.type == "PrintV2" for each in users)


def _is_only_text(node: Any) -> bool:
    """Whether a node is only a message or label, which TensorFlow allows in a TPU's program."""
    return bool(node.op == "Const" and node.attr["dtype"].type == tf.string.as_datatype_enum)


def _host_finding(op: tf.Operation, why: str, is_soft: bool) -> TpuFinding:
    is_text = any(t.dtype == tf.string for t in (*op.inputs, *op.outputs))
    about = advice.for_host(op.type, is_text)
    reason = about.reason or why
    if not is_soft:
        reason += ", and soft placement is off"
        return _finding("refused", op, Advice(reason, about.advice))
    unknown = [t for t in op.outputs if not t.shape.is_fully_defined() and _is_number(t)]
    if unknown and all(t.shape.is_fully_defined() for t in op.inputs):
        shape = unknown[0].shape
        known = f" ({shape})" if shape.rank is not None else ""
        reason += f", and gives the TPU a tensor whose shape is unknown{known}"
        return _finding("refused", op, Advice(reason, "Give it a shape: tf.ensure_shape"))
    return _finding("on_host", op, Advice(reason, about.advice))


def _is_number(tensor: tf.Tensor) -> bool:
    return tensor.dtype not in (tf.string, tf.resource, tf.variant)


def _refused(refusal: Refusal) -> TpuFinding:
    message = refusal.message
    if not is_about_shapes(message):
        known = Advice(f"XLA says: {first_line(message)}", advice.UNKNOWN.advice)
    elif error_texts.XLA_NEEDS_LIST_SIZE in message:
        known = advice.NEEDS_LOOP_BOUND
    else:
        known = advice.NEEDS_SIZE
    return _finding("refused", refusal.op, known)


def _finding(outcome: TpuOutcome, op: Any, known: Advice) -> TpuFinding:
    file, line, code = line_of(op)
    return TpuFinding(
        outcome=outcome,
        op=op.type if op is not None else "an op",
        name=op.name if op is not None else "",
        reason=known.reason or "XLA has no kernel for it",
        advice=known.advice,
        file=file,
        line=line,
        code=code,
    )


def _without_passing_on(findings: list[TpuFinding]) -> list[TpuFinding]:
    """Leave out the Identity ops that only forward the result of an op that was reported."""
    outcomes = {each.outcome for each in findings if each.op != "Identity"}
    return [each for each in findings if each.op != "Identity" or each.outcome not in outcomes]


def _by_line(findings: list[TpuFinding]) -> list[TpuFinding]:
    """One finding for all ops of a type on a line; refused ops first."""
    count = Counter(_key(each) for each in findings)
    first: dict[tuple[Any, ...], TpuFinding] = {}
    for each in findings:
        first.setdefault(_key(each), structs.replace(each, count=count[_key(each)]))
    order = {"refused": 0, "on_host": 1, "slow": 2}
    return sorted(first.values(), key=lambda each: order[each.outcome])


def _key(finding: TpuFinding) -> tuple[Any, ...]:
    where = (finding.file, finding.line) if finding.file else finding.name
    return (finding.outcome, finding.op, where, finding.reason)
