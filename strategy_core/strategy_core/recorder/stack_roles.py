"""What a function of TensorFlow, Keras or Python does for a program that trains.

A sampled stack has the functions of the libraries by file and name. The few of them below say what
a program waits for. They are not called here, only recognised: if a release renames one, its time
is counted as a plain call, and `tests/strategy_core/recorder/test_stack_roles.py` fails.
"""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import NamedTuple

from strategy_core.runtime.library_files import (
    is_framework_file,
    is_lab_file,
    is_program_file,
)

READ_BACK = frozenset(
    {"numpy", "_numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "__format__"}
)
"""Methods that copy a tensor to the host."""

_ITERATORS = (
    "tensorflow/python/data/ops/iterator_ops.py",
    "tensorflow/python/data/ops/multi_device_iterator_ops.py",
    "tensorflow/python/distribute/input_lib.py",
)
_MADE = (
    "__init__",
    "__iter__",
    "_create_iterator",
    "_make_iterator",
    "_create_iterators_per_worker",
)
_TAKEN = ("__next__", "next", "get_next", "_next_internal", "get_next_as_optional")
_KERAS_TRAINER = "keras/src/backend/tensorflow/trainer.py"

_BY_FILE: dict[str, dict[str, str]] = {
    "tensorflow/python/framework/func_graph.py": {"func_graph_from_py_func": "tracing"},
    "tensorflow/python/eager/polymorphic_function/polymorphic_function.py": {
        "_initialize": "tracing",
        "__call__": "function",
    },
    "tensorflow/python/distribute/distribute_lib.py": {"reduce": "reduce"},
    "tensorflow/python/distribute/coordinator/cluster_coordinator.py": {"join": "workers"},
    "tensorflow/python/distribute/coordinator/values.py": {"_wait_and_maybe_error": "workers"},
    "tensorflow/python/framework/constant_op.py": {"convert_to_eager_tensor": "copy"},
    "tensorflow/python/eager/execute.py": {"quick_execute": "op", "execute": "op"},
    _KERAS_TRAINER: {
        "evaluate": "validation",
        "test_on_batch": "validation",
        "predict": "predict",
        "predict_on_batch": "predict",
        "fit": "fit",
        "train_on_batch": "fit",
    },
    "<frozen importlib._bootstrap>": {"_find_and_load": "import"},
    "logging/__init__.py": {"_log": "logging"},
    "tensorflow/python/ops/logging_ops.py": {"print_v2": "logging"},
}
for _file in _ITERATORS:
    _BY_FILE[_file] = dict.fromkeys(_MADE, "epoch-start") | dict.fromkeys(_TAKEN, "input")

_BY_FOLDER = {
    "tensorflow/python/checkpoint/": "checkpoint",
    "tensorflow/python/saved_model/": "checkpoint",
    "tensorflow/python/training/saving/": "checkpoint",
    "keras/src/saving/": "checkpoint",
    "tensorflow/python/ops/gen_": "op",
    "tensorflow/python/ops/summary_ops_v2.py": "logging",
    "tensorboard/": "logging",
    "keras/src/trainers/data_adapters/": "input",
    "keras/src/trainers/epoch_iterator.py": "epoch-start",
    "keras/src/utils/progbar.py": "logging",
    "keras/src/utils/io_utils.py": "logging",
}
WITHIN = ("validation", "predict", "callback", "checkpoint")
"""Calls that own all that happens in them, the outermost first."""
_WRAPPERS = (
    "error_handler",
    "op_dispatch_handler",
    "wrapper",
    "wrapped",
    "__enter__",
    "__exit__",
    "binary_op_wrapper",
    "tensor_method",
)
"""Functions around others, whose names say nothing."""
_GENERATED = "__autograph_generated_file"
_PASSING_ON = (
    *("hooks.py", "keras_hooks.py", "eager_steps.py", "lookup.py", "scheduled.py"),
    "fit_error.py",
)
"""Files of `tracing` and `recorder` whose functions call the program's."""
_CALLBACKS = "keras/src/callbacks/callback_list.py"


class Role(NamedTuple):
    """What is known of a function."""

    origin: str
    """`program`, `framework`, `lab` or `library`."""
    does: str = ""
    within: str = ""
    name: str = ""
    """Qualified name; empty if it says nothing."""


def role_of(code: CodeType) -> Role:
    """Classify a function; the answer can be kept as long as its code is."""
    path, name = code.co_filename, code.co_name
    if is_lab_file(path):
        return Role("lab", "recording" if _records(path.replace(os.sep, "/")) else "")
    if _GENERATED in path:  # AutoGraph's copy of a function of the program, deleted at the end
        return Role("framework")
    if is_program_file(path):
        return Role("program", name=code.co_qualname)
    is_framework = is_framework_file(path)
    does = _does(path.replace(os.sep, "/"), name, is_framework=is_framework)
    call = "" if name in _WRAPPERS or "<locals>" in code.co_qualname else code.co_qualname
    within = does if does in WITHIN else ""
    return Role("framework" if is_framework else "library", does, within, call)


def _records(path: str) -> bool:
    """Whether a file of the lab's records; the others call the program, or are the program."""
    folder, _, file = path.rpartition("/")
    part = folder.rpartition("/")[2]
    return part in ("recorder", "tracing") and file not in _PASSING_ON


def _does(path: str, name: str, *, is_framework: bool) -> str:
    if path.endswith(_CALLBACKS) and name.startswith("on_"):
        return "callback"
    for file, names in _BY_FILE.items():
        if path.endswith(file) and name in names:
            return names[name]
    for folder, does in _BY_FOLDER.items():
        is_in = f"/{folder}" in path or path.endswith(f"/{folder}")
        if is_in and name != "<module>":  # which runs when it is imported
            return does
    return "host-read" if is_framework and name in READ_BACK else ""


def line_of(frame: FrameType) -> int:
    """The line that a frame is at.

    Python has none at some instructions, such as the jump back of a loop, where a thread often lets
    the interpreter's lock go: it is that of the last instruction before them which has one.
    """
    if frame.f_lineno is not None:
        return frame.f_lineno
    before = [line for start, _, line in frame.f_code.co_lines() if line and start <= frame.f_lasti]
    return before[-1] if before else frame.f_code.co_firstlineno
