"""Private TensorFlow and Keras that tracing a program unchanged needs: no public hook exists.

`tests/strategy_core/private_tf/test_tracing.py` says which one is gone when TensorFlow changes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import c_api
from strategy_core.private_tf.availability import has, private, required

_FEATURE = "Tracing a program unchanged"
_LOOP_BODY = "WhileBodyFuncGraph"
_COLLECTION = "graphs are collected through tf.summary, which may need TensorBoard"

_ending: list[threading.Thread] = []
"""The last thread of `end_graph_collection_beside`, if any."""

Function: type = type(tf.function(lambda: None))
"""The class of what `tf.function` returns; public only as an abstract type."""


def strategy_base() -> type:
    """Return the class that defines `run`, which the public strategies inherit.

    Raises LabError if TensorFlow has none. Recorded runs import this module too, and go on without.
    """
    base: type = required("tensorflow.python.distribute.distribute_lib:StrategyBase", _FEATURE)
    return base


def iterator_types() -> list[type]:
    """The classes that define `__next__` of eager iterators, of datasets and distributed ones."""
    cost = "the time to fetch a batch is not measured"
    paths = (
        "tensorflow.python.distribute.input_lib:DistributedIteratorBase",
        "tensorflow.python.data.ops.iterator_ops:OwnedIterator",
    )
    return [kind for path in paths if (kind := private(path, cost)) is not None]


def epoch_iterator_type() -> Any:
    """Keras's iterator over the batches of an epoch, which knows the batch size."""
    return private(
        "keras.src.trainers.epoch_iterator:EpochIterator",
        "the examples per second of Keras's fit are unknown",
    )


def optimizer_types() -> list[type]:
    """The classes that define `apply` of Keras's optimizers; public ones inherit it."""
    import keras

    kinds = keras.optimizers.Optimizer.__mro__
    return [kind for kind in kinds if "apply" in kind.__dict__][:1]


def is_loop_body(graph: Any) -> bool:
    """Whether a graph is the body of a `tf.while_loop`. Public API does not tell graphs apart."""
    return any(kind.__name__ == _LOOP_BODY for kind in type(graph).__mro__)


def profiler_module() -> Any:
    """The module whose `start` and `stop` every user of the profiler in this process calls.

    `tf.profiler.experimental` has other names of the same functions.
    """
    return private(
        "tensorflow.python.profiler.profiler_v2:",
        "a capture window may be open when the program starts its own profiler",
    )


def python_function(function: Any) -> Callable[..., Any]:
    """What a `tf.function` was made of."""
    own: Callable[..., Any] = function.python_function
    return own


def has_dtensor() -> bool:
    """Whether the program has made a mesh of `tf.experimental.dtensor`; no public API tells."""
    cost = "a program that makes the first mesh in its step may end differently"
    module = sys.modules.get("tensorflow.dtensor.python.api")
    if module is None or not has(module, "_dtensor_singleton", cost):
        return False
    return module._dtensor_singleton is not None


def why_no_graphs() -> str | None:
    """Why graphs cannot be collected without harm, as a sentence; None if they can.

    The runtime gives them out after all work in flight is done. It raises, and forgets, an error of
    that work, which the program then does not see.
    """
    if has_dtensor():
        why = "The program computes on a mesh of `tf.experimental.dtensor`"
    elif not tf.config.experimental.get_synchronous_execution():
        why = "The program has turned synchronous execution off"
    else:
        return None
    return f"{why}: to collect a graph would hide errors of its own"


def variable_types() -> list[type]:
    """The classes that define `assign` of eager variables; a distributed one calls it of each of
    its copies."""
    cost = "a program that updates its variables without an optimizer has a step for each call"
    module = "tensorflow.python.ops.resource_variable_ops"
    paths = (f"{module}:BaseResourceVariable", f"{module}:ResourceVariable")
    return [kind for path in paths if (kind := private(path, cost)) is not None]


def is_compiled(function: Any) -> bool:
    """Whether XLA compiles a `tf.function` as a whole (`jit_compile=True`)."""
    return getattr(function, "_jit_compile", None) is True


def leave_out_of_tracebacks(path: str, module: str) -> None:
    """Have the filter of tracebacks in `module` of TensorFlow or Keras remove the files of `path`.

    The filter keeps the frame that raised if all frames are its own. A frame of the lab between
    them would be kept instead, and the lab removes that at the end: the line that raised is lost.
    """
    filtering = private(f"{module}:", cost := "a traceback may end before the line that raised")
    if filtering is not None and has(filtering, "_EXCLUDED_PATHS", cost):
        filtering._EXCLUDED_PATHS = (*filtering._EXCLUDED_PATHS, path)


def begin_graph_collection() -> bool:
    """Have the runtime keep the placed graph of each function that is instantiated from now on.

    `tf.summary.trace_on` does the same, but refuses while a function is traced, which is when a
    program's step is recognised. Returns whether it could be done.
    """
    wait_for_graphs()
    if why_no_graphs() is not None:
        return False
    context = private("tensorflow.python.eager.context:context", _COLLECTION)
    if context is None or not has(context(), "enable_graph_collection", _COLLECTION):
        return False
    context().enable_graph_collection()
    context().export_run_metadata()  # what was collected before
    return True


def end_graph_collection() -> list[Any]:
    """Stop collecting. Returns the RunMetadata with the graphs, or nothing if it could not be
    begun."""
    wait_for_graphs()
    context = private("tensorflow.python.eager.context:context", _COLLECTION)
    if context is None or not has(context(), "disable_graph_collection", _COLLECTION):
        return []
    is_safe = why_no_graphs() is None
    metadata = [c_api.run_metadata(context())] if is_safe else []
    context().disable_graph_collection()
    context().disable_run_metadata()
    return metadata


def end_graph_collection_beside(end: Callable[[], object]) -> None:
    """Run `end`, which calls `end_graph_collection`, in a thread.

    The runtime takes 15 us per op of the step to give the graphs out, nearly all of it without
    Python's lock. It holds a lock of its own meanwhile: functions that another thread
    instantiates wait for it and are not among the graphs.
    """
    wait_for_graphs()
    _ending[:] = [threading.Thread(target=end, name="end_graph_collection", daemon=True)]
    _ending[0].start()


def wait_for_graphs() -> None:
    """Wait until no other thread ends the collection: a process has one."""
    for thread in _ending:
        if thread is not threading.current_thread():
            thread.join()
