"""Sizes of a graph's tensors, inferred by TensorFlow without an object in Python per op.

`tf.graph_util.import_graph_def` infers shapes as well, but wraps each op and its inputs: of
ResNet50's 11,500 ops it took 0.69 s and the shapes another 0.12 s, the inference itself 0.16 s, and
it holds Python's lock for most of that. TensorFlow's C API (`tensorflow/c/c_api.h`) is public and
is part of the wheel, but no header says in which library; hence this place. ctypes releases
Python's lock during each call.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.private_tf.availability import lost

_LIBRARIES = (
    "libtensorflow_cc.so.2",
    "libtensorflow_framework.so.2",
    "libtensorflow_cc.2.dylib",
    "libtensorflow_framework.2.dylib",
)
_UNKNOWN_RANK = _UNKNOWN_SIZE = -1

Sizes = Iterator[tuple[str, int | None, tf.DType]]
"""`node:output`, number of elements and type of each tensor; None where the shape is not static."""


def tensor_sizes(graph_def: Any) -> Sizes:
    """The tensors of a graph.

    Raises ValueError if TensorFlow cannot import the graph, for example for an unknown op.
    """
    library = _c_api()
    if library is None:
        lost("the C API's TF_GraphImportGraphDef", "sizes of tensors are read more slowly")
        return _imported_in_python(graph_def)
    return _imported(library, graph_def.SerializeToString())


class _Output(ctypes.Structure):
    """`TF_Output`."""

    _fields_ = (("op", ctypes.c_void_p), ("index", ctypes.c_int))


_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "TF_NewGraph": (_POINTER, []),
    "TF_DeleteGraph": (None, [_POINTER]),
    "TF_NewStatus": (_POINTER, []),
    "TF_DeleteStatus": (None, [_POINTER]),
    "TF_GetCode": (ctypes.c_int, [_POINTER]),
    "TF_Message": (ctypes.c_char_p, [_POINTER]),
    "TF_NewBufferFromString": (_POINTER, [ctypes.c_char_p, ctypes.c_size_t]),
    "TF_DeleteBuffer": (None, [_POINTER]),
    "TF_NewImportGraphDefOptions": (_POINTER, []),
    "TF_DeleteImportGraphDefOptions": (None, [_POINTER]),
    "TF_GraphImportGraphDef": (None, [_POINTER, _POINTER, _POINTER, _POINTER]),
    "TF_GraphNextOperation": (_POINTER, [_POINTER, ctypes.POINTER(ctypes.c_size_t)]),
    "TF_OperationName": (ctypes.c_char_p, [_POINTER]),
    "TF_OperationNumOutputs": (ctypes.c_int, [_POINTER]),
    "TF_OperationOutputType": (ctypes.c_int, [_Output]),
    "TF_GraphGetTensorNumDims": (ctypes.c_int, [_POINTER, _Output, _POINTER]),
    "TF_GraphGetTensorShape": (None, [_POINTER, _Output, _POINTER, ctypes.c_int, _POINTER]),
}


@cache
def _c_api() -> Any:
    """The library that exports the C API; None if there is none."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(str(Path(tf.__file__).parent / name))
            for function, (result, arguments) in _SIGNATURES.items():
                found = library[function]
                found.restype, found.argtypes = result, arguments
                setattr(library, function, found)  # `library.name` is a function of its own
        except (OSError, AttributeError):
            continue
        return library
    return None


def _imported(library: Any, serialized: bytes) -> Sizes:
    graph, status = library.TF_NewGraph(), library.TF_NewStatus()
    options = library.TF_NewImportGraphDefOptions()
    buffer = library.TF_NewBufferFromString(serialized, len(serialized))
    try:
        library.TF_GraphImportGraphDef(graph, buffer, options, status)
        if library.TF_GetCode(status):
            raise ValueError(library.TF_Message(status).decode(errors="replace"))
        yield from _outputs(library, graph, status)
    finally:
        library.TF_DeleteBuffer(buffer)
        library.TF_DeleteImportGraphDefOptions(options)
        library.TF_DeleteStatus(status)
        library.TF_DeleteGraph(graph)


def _outputs(library: Any, graph: int, status: int) -> Sizes:
    types: dict[int, tf.DType] = {}
    at = ctypes.c_size_t(0)
    while op := library.TF_GraphNextOperation(graph, ctypes.byref(at)):
        name = library.TF_OperationName(op).decode()
        for index in range(library.TF_OperationNumOutputs(op)):
            output = _Output(op, index)
            number = library.TF_OperationOutputType(output)
            if number not in types:
                types[number] = tf.as_dtype(number)
            yield f"{name}:{index}", _num_elements(library, graph, output, status), types[number]


def _num_elements(library: Any, graph: int, output: _Output, status: int) -> int | None:
    rank = library.TF_GraphGetTensorNumDims(graph, output, status)
    if rank == _UNKNOWN_RANK:
        return None
    dims = (ctypes.c_int64 * rank)()
    library.TF_GraphGetTensorShape(graph, output, dims, rank, status)
    return math.prod(dims) if _UNKNOWN_SIZE not in dims else None


def _imported_in_python(graph_def: Any) -> Sizes:
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.graph_util.import_graph_def(graph_def, name="")
    except tf.errors.OpError as error:
        raise ValueError(str(error)) from error
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            yield tensor.name, tensor.shape.num_elements(), tensor.dtype
