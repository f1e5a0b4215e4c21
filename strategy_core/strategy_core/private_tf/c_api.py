"""TensorFlow's C API, called without Python's lock.

The API is public (`tensorflow/c/c_api.h`) and part of the wheel, but no header says in which
library; hence this place. TensorFlow's own bindings of these calls hold Python's lock while they
run.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import shared_libraries
from strategy_core.private_tf.availability import has, lost


class Output(ctypes.Structure):
    """`TF_Output`."""

    _fields_ = (("op", ctypes.c_void_p), ("index", ctypes.c_int))


class _Buffer(ctypes.Structure):
    """`TF_Buffer`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("data_deallocator", ctypes.c_void_p),
    )


_POINTER = ctypes.c_void_p
_BUFFER = ctypes.POINTER(_Buffer)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "TF_NewGraph": (_POINTER, []),
    "TF_DeleteGraph": (None, [_POINTER]),
    "TF_NewStatus": (_POINTER, []),
    "TF_DeleteStatus": (None, [_POINTER]),
    "TF_GetCode": (ctypes.c_int, [_POINTER]),
    "TF_Message": (ctypes.c_char_p, [_POINTER]),
    "TF_NewBuffer": (_BUFFER, []),
    "TF_NewBufferFromString": (_BUFFER, [ctypes.c_char_p, ctypes.c_size_t]),
    "TF_DeleteBuffer": (None, [_BUFFER]),
    "TF_NewImportGraphDefOptions": (_POINTER, []),
    "TF_DeleteImportGraphDefOptions": (None, [_POINTER]),
    "TF_GraphImportGraphDef": (None, [_POINTER, _BUFFER, _POINTER, _POINTER]),
    "TF_GraphNextOperation": (_POINTER, [_POINTER, ctypes.POINTER(ctypes.c_size_t)]),
    "TF_OperationName": (ctypes.c_char_p, [_POINTER]),
    "TF_OperationNumOutputs": (ctypes.c_int, [_POINTER]),
    "TF_OperationOutputType": (ctypes.c_int, [Output]),
    "TF_GraphGetTensorNumDims": (ctypes.c_int, [_POINTER, Output, _POINTER]),
    "TF_GraphGetTensorShape": (None, [_POINTER, Output, _POINTER, ctypes.c_int, _POINTER]),
    "TFE_ContextExportRunMetadata": (None, [_POINTER, _BUFFER, _POINTER]),
}


def library(cost: str) -> Any:
    """The library that exports the C API. If there is none, None, and `cost` is kept."""
    loaded = _library()
    if loaded is None:
        lost("library that exports the C API", cost)
    return loaded


@cache
def _library() -> Any:
    loaded = shared_libraries.that_exports("TFE_ContextExportRunMetadata")
    if loaded is None:
        return None
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None
    return loaded


def run_metadata(context: Any) -> Any:
    """What `context.export_run_metadata()` returns, without Python's lock where that is possible.

    TensorFlow's own binding held it for 0.2 s with the graph of ResNet50, and the training waited.
    """
    cost = "the training waits for the graph of its first step"
    api = library(cost)
    if api is None or not has(context, "_context_handle", cost):
        return context.export_run_metadata()
    buffer, status = api.TF_NewBuffer(), api.TF_NewStatus()
    try:
        api.TFE_ContextExportRunMetadata(_pointer(context._context_handle), buffer, status)
        if api.TF_GetCode(status):
            raise RuntimeError(api.TF_Message(status).decode(errors="replace"))
        return tf.compat.v1.RunMetadata.FromString(_bytes_of(buffer.contents))
    finally:
        api.TF_DeleteBuffer(buffer)
        api.TF_DeleteStatus(status)


def _pointer(capsule: Any) -> int:
    """What a capsule of the bindings points to."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.argtypes = [ctypes.py_object]
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    return int(python.PyCapsule_GetPointer(capsule, python.PyCapsule_GetName(capsule)))


def _bytes_of(buffer: _Buffer) -> Any:
    """The bytes of a buffer, not copied."""
    if not buffer.length:
        return b""
    return memoryview((ctypes.c_char * buffer.length).from_address(buffer.data)).cast("B")
