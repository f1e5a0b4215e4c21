"""Texts of TensorFlow's and Keras's errors that the lab recognises.

Nothing but the text tells these errors apart, and a release may change it: the error is then shown
as TensorFlow wrote it. `tests/strategy_core/private_tf/test_error_texts.py` raises each of them.
"""

from __future__ import annotations

import re

LABEL_OUT_OF_RANGE = re.compile(
    r"label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
)
INDEX_OUT_OF_RANGE = re.compile(r"indices\[[\d,]*\] = (-?\d+) is not in \[0, (\d+)\)")
NO_GRADIENTS = "No gradients provided"
NO_TENSORBOARD = "TensorBoard is not installed"
"""What `tf.summary.scalar` and others raise without the package `tensorboard`."""
PYTHON_TRACEBACK = "Traceback (most recent call last)"
"""Occurs in the message of an error that Python code raised inside an op."""
ROOT_ERROR = re.compile(r"^ +\(\d+\) [A-Z_]+: ", re.MULTILINE)
"""Begin of each of several errors in one message."""
ABOUT_PEERS = re.compile(r"\[_Derived_\]|[Cc]ollective")
"""Matches the error of an op that ended because another process or op had failed."""

NOT_THE_CAUSE = re.compile(
    r"Graph execution error:|Exception encountered when calling |Detected at node|"
    r'File "|<stack traces unavailable>|Original stack trace|\d+ root error\(s\) found'
)
"""Lines of an error before the one that names its cause."""
NODE_AT_END = re.compile(r" for '\{\{node .*?\}\} = .*?'(?= |$)| \[Op:\w+\](?: name:.*)?$")
PLACE_BEFORE = re.compile(
    r"(?:\(\d+\) [A-Z_]+: +)?(?:\{\{.*?\}\} *)*"
    r"(?:Error in user-defined function passed to \S+ transformation with iterator: \S+: )?"
)
"""Around the cause in its line: the node, and the transformation of tf.data."""

USER_CODE = re.compile(r"in user code:\n\n(?: {4}File .*\n(?: {5,}.*\n)*)*\n* {4}\w+: ")
"""What AutoGraph puts before the message of an error: its stack, and the type once more."""

FRAME = re.compile(r'^ *File "(?P<path>[^"\n]+)", line (?P<line>\d+), in ', re.MULTILINE)
"""A line of a stack in a message: of the op that failed, or of Python in an op."""

XLA_NODE = re.compile(r"\{\{node ([^}]+)\}\}|node `([^`]+)`")
XLA_PREFIX = re.compile(r"^Failed getting HLO text: '?")
"""In what XLA refuses: the op, and what `experimental_get_compiler_ir` puts before the reason."""

XLA_NEEDS_CONSTANT = "must be a compile-time constant"
XLA_NEEDS_LIST_SIZE = "fixed tensor list size"
"""In what XLA refuses because a size depends on data: of a shape or range, or of the list that the
gradient of a loop without a bound fills."""

EAGER_STEP_ON_TPU = re.compile(r"does not support pure eager execution")
NEEDS_CROSS_REPLICA_CONTEXT = re.compile(r"requires being in cross-replica context")
NEEDS_REPLICA_CONTEXT = re.compile(
    r"method that must be called in (the )?replica context|requires.*replica context|"
    r"'NoneType' object has no attribute '(merge_call|all_reduce|all_gather|replica_id)",
    re.DOTALL,
)
"""In cross-replica context `get_replica_context()` is None, so most calls fail with Python's text.
Matches texts of `NEEDS_CROSS_REPLICA_CONTEXT`, too: look for that one first."""
UNEQUAL_MERGE_CALLS = re.compile(r"different number of replica_context\(\)\.merge_call\(\) calls")
MIXED_STRATEGIES = re.compile(
    r"mix(ing)?.*(tf\.distribute\.Strategy|[Ss]trategy)|"
    r"[Tt]rying to (enter|run).*(while|inside).*[Ss]trateg|"
    r"different `?tf\.distribute\.Strategy|under the same strategy scope",
    re.DOTALL,
)
NO_AGGREGATION = re.compile(r"[Yy]ou must specify an aggregation method to update an? \w+")
SYNC_ON_READ_ASSIGNMENT = re.compile(
    r"SyncOnReadVariable does not support.*cross-replica context.*aggregation", re.DOTALL
)
MERGE_CALL_INSIDE_GRAPH = re.compile(
    r"merge_call.*(while loop|conditional)|merge_call`? called while defining a new graph",
    re.DOTALL,
)
"""Errors about the contexts of `tf.distribute`, which `strategy_contexts.explain` explains."""
