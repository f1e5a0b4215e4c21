"""Files and modules of TensorFlow that the lab recognises on Python's stack.

There is no public way to ask whether a call comes from TensorFlow, or what it waits for. If a
release moves one of these, the lab says less: a hang is explained by the step alone, or a refusal
of the emulated TPU comes from the hardware that is missing. Imports no TensorFlow, because the
launcher reads stacks, too. `tests/strategy_core/private_tf/test_frame_names.py` has each of them.
"""

from __future__ import annotations

import re

_FILE = re.compile(r"/tensorflow/python/")
_INPUT_FILE = re.compile(r"(?:distribute/input_lib|data/ops/\w*iterator\w*)\.py$")
_AUTOGRAPH = "tensorflow.python.autograph"
_TPU_EMBEDDING = "tensorflow.python.tpu.tpu_embedding"
_LIBRARIES = ("tensorflow", "keras")
_CLOSURE_THREAD = re.compile(r"WorkerClosureProcessingLoop-(\d{1,6})")
_RUNS_CLOSURE = "_process_closure"
_EXECUTES = "quick_execute"
_UNPACKS = "unpack_inputs"
_COLLECTIVE_KEY = frozenset({"_next_instance_key", "wrapped_closure"})


def is_file_of_tensorflow(path: str) -> bool:
    """Whether code at this path runs or waits for an op."""
    return _FILE.search(path) is not None


def is_input_file(path: str) -> bool:
    """Whether code at this path fetches a batch from a `tf.data` or distributed iterator."""
    return _INPUT_FILE.search(path) is not None


def closure_worker(thread: str) -> int | None:
    """Number of the worker whose steps a `ClusterCoordinator` has in a thread of this name."""
    match = _CLOSURE_THREAD.fullmatch(thread)
    return int(match[1]) if match else None


def is_run_of_closure(function: str) -> bool:
    """Whether this function of such a thread goes on until the worker has done its step."""
    return function == _RUNS_CLOSURE


def is_collective_key(function: str) -> bool:
    """Whether this function of TensorFlow makes the key of a collective that a call will run.

    A collective in a `tf.function` has a new key for each call: a tensor, made by Python
    (`CollectiveReplicaLauncher` in `distribute/cross_device_utils.py`), which the graph captures at
    the call (`capture_call_time_value` in `framework/func_graph.py`). Both functions count, because
    the second one converts what the first one returns. Per-worker values of a
    `ClusterCoordinator` are captured in that way, too, but not in the thread that trains.
    """
    return function in _COLLECTIVE_KEY


def is_execution(function: str) -> bool:
    """Whether this function of TensorFlow has the runtime execute a graph, and waits for it."""
    return function == _EXECUTES


def is_conversion_of_arguments(function: str) -> bool:
    """Whether this function of TensorFlow makes the tensors of a call's arguments, which copies
    NumPy arrays (`FunctionType` in `core/function/polymorphism/function_type.py`)."""
    return function == _UNPACKS


def is_library(module: str) -> bool:
    """Whether a module is one of TensorFlow or Keras."""
    return module.partition(".")[0] in _LIBRARIES


def is_autograph(module: str) -> bool:
    """Whether a module of TensorFlow makes the calls of the user's code that it converted."""
    return module.startswith(_AUTOGRAPH)


def is_tpu_embedding(module: str) -> bool:
    """Whether a module defines TPUEmbedding, TPUEmbeddingForServing or their relatives."""
    return module.startswith(_TPU_EMBEDDING)
