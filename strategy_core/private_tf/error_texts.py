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
ABOUT_PEERS = re.compile(r"\[_Derived_\]|[Cc]ollective")
"""Matches the error of an op that ended because another process or op had failed."""

NOT_THE_CAUSE = re.compile(
    r"Graph execution error:|Exception encountered when calling |Detected at node|"
    r'File "|<stack traces unavailable>|Original stack trace|\d+ root error\(s\) found'
)
"""Lines of an error before the one that names its cause."""
NODE_AT_END = re.compile(r" for '\{\{node .*?\}\} = .*?'(?= |$)| \[Op:\w+\](?: name:.*)?$")
PLACE_BEFORE = re.compile(
    r"(?:\(\d+\) [A-Z_]+: +)?(?:\{\{.*?\}\} +)*"
    r"(?:Error in user-defined function passed to \S+ transformation with iterator: \S+: )?"
)
"""Around the cause in its line: the node, and the transformation of tf.data."""

XLA_NODE = re.compile(r"\{\{node ([^}]+)\}\}|node `([^`]+)`")
XLA_PREFIX = re.compile(r"^Failed getting HLO text: '?")
"""In what XLA refuses: the op, and what `experimental_get_compiler_ir` puts before the reason."""
