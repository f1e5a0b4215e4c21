"""Whether XLA has a kernel for an op with given types.

Looks up the registry of this machine's XLA backend. TensorFlow registers the same kernels for TPUs,
except for the types below, and for the collectives, which only TPUs have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.xla.compile_ir import compile_error

Constraints = Mapping[str, frozenset[int]]

TPU_ONLY = frozenset(("CrossReplicaSum", "AllToAll", "CollectivePermute"))
"""Compiled for TPUs only."""

NOT_ON_TPU = frozenset((tf.complex128.as_datatype_enum,))
"""Types that XLA supports on CPUs but not on TPUs (`kTpuAllTypes` in tpu_defs.h)."""

_BACKEND = "XLA_CPU_JIT"


def unsupported(node: Any) -> str | None:
    """Why XLA cannot compile a NodeDef; None if it can."""
    if node.op in TPU_ONLY:
        return None
    kernels = registry().get(node.op)
    if kernels is None:
        return "XLA has no kernel for it"
    if any(_fits(node.attr, constraints) for constraints in kernels):
        return None
    names = sorted({tf.dtypes.as_dtype(t).name for t in _types(node.attr) if not _is_supported(t)})
    return f"XLA has no kernel for it on {', '.join(names) or 'these types'}"


@cache
def registry() -> dict[str, list[Constraints]]:
    """Op type -> the type constraints of its XLA kernels."""
    _register()
    by_op: dict[str, list[Constraints]] = {}
    for kernel in private_tf.get_all_registered_kernels().kernel:
        if kernel.device_type == _BACKEND:
            constraints = {
                each.name: frozenset(each.allowed_values.list.type) - NOT_ON_TPU
                for each in kernel.constraint
            }
            by_op.setdefault(kernel.op, []).append(constraints)
    return by_op


def _register() -> None:
    """Make TensorFlow register XLA's kernels, which it does at the first compilation."""
    with tf.init_scope():
        compile_error(tf.function(lambda x: x, jit_compile=True), [tf.TensorSpec([])])


def _fits(attrs: Mapping[str, Any], constraints: Constraints) -> bool:
    for name, allowed in constraints.items():
        value = attrs.get(name)
        if value is None:
            continue
        types = value.list.type if value.HasField("list") else [value.type]
        if not allowed.issuperset(types):
            return False
    return True


def _types(attrs: Mapping[str, Any]) -> list[int]:
    types: list[int] = []
    for value in attrs.values():
        types += value.list.type if value.HasField("list") else [value.type]
    return [each for each in types if each]


def _is_supported(datatype: int) -> bool:
    return datatype not in NOT_ON_TPU and datatype != tf.string.as_datatype_enum
