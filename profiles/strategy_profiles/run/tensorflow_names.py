"""Names and texts of TensorFlow that readers of a run match, besides those of captured events.

The names of events are in `profiles/strategy_profiles/capture/event_names.py`. What runs with
TensorFlow matches more errors: `strategy_core/strategy_core/private_tf/error_texts.py`. Tests
beside that file check each name and text here.
"""

from __future__ import annotations

import re

PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""Types of the ops that run Python inside a graph: `tf.numpy_function`, `tf.py_function`."""

PRINTING_OPS = frozenset({"Print", "PrintV2", "StringFormat"})
"""Types of the ops of `tf.print`: one makes the text, another prints it."""

PRINT = "tf.print"
"""In a what-if, all of these ops."""

CHECK_OF_EACH_OP = "DebugNumericSummaryV2"
"""Type of the ops of `tf.debugging.enable_check_numerics`, which checks every op."""

CHECKING_OPS = frozenset({"CheckNumerics", "CheckNumericsV2", CHECK_OF_EACH_OP})
"""The same and types of the ops of `tf.debugging.check_numerics`."""

SUMMARY_OPS = frozenset(
    {
        "WriteAudioSummary",
        "WriteHistogramSummary",
        "WriteImageSummary",
        "WriteRawProtoSummary",
        "WriteScalarSummary",
        "WriteSummary",
    }
)
"""Types of the ops of `tf.summary`."""

DEBUGGING_OPS = PRINTING_OPS | CHECKING_OPS | SUMMARY_OPS

_OF_CPU_LIBRARY = re.compile(r"^_(?=Mkl|Fused)(?:Mkl)?(?:Native)?(?:Fused)?")


def type_as_written(op: str) -> str:
    """The type that a program's graph has: `MatMul` of `_MklMatMul` and of `_FusedMatMul`.

    On CPUs, TensorFlow replaces ops by those of oneDNN, and fuses them with what follows.
    """
    return _OF_CPU_LIBRARY.sub("", op)


READ_VARIABLE = "ReadVariableOp"
"""Type of the op that reads a variable in a graph."""

OPTIMIZER = re.compile(
    r"(ada\w+|sgd|rmsprop|nadam|ftrl|lion|lamb|muon|loss_scale_optimizer)(_\d+)?", re.IGNORECASE
)
"""The scopes of optimizers, as Keras and TensorFlow name them by default."""
WRITE_VARIABLE = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")
"""How the types of ops begin that write a variable."""

ARGUMENT = "_Arg"
"""Type of the op that hands a tensor from outside to a graph: an argument of the function, or a
tensor that it captures."""

FUNCTION_ENDS = frozenset({ARGUMENT, "_DeviceArg", "_Retval", "_DeviceRetval"})
"""Types of the arguments and results of functions: no ops that a program wrote."""

SHAPES_DIFFER = "Shape mismatch in the collective instance"
"""Of an error: the members of a collective have tensors of different shapes."""

SHAPES_OF_MEMBERS = re.compile(
    r"expected shape (\[[^\]]*\]) but another member in the group expected shape (\[[^\]]*\])"
)
"""Of the same error: the shapes of the two members."""

XLA_ACROSS_DEVICES = re.compile(
    r"Trying to access resource .* located in device \S+ from device ", re.DOTALL
)
"""Of an error: XLA cannot compile a function that uses a variable of another device."""

VARIABLES_IN_FIRST_STEP = re.compile(
    r"must feed a value for placeholder tensor 'cond/else/_\d+/cond/"
)
"""Of an error: the first call of a function creates variables, in a condition around its graph, and
the graph has merge calls of several replicas."""

LOST_PEER_ERRORS = {
    "UnavailableError": "its connection was gone",
    "DeadlineExceededError": "its answer took too long",
    "AbortedError": "its step was aborted",
    "CancelledError": "its step was cancelled",
}
"""Classes of `tf.errors` that a process raises when it loses a peer, in words."""
