"""Of an error of many lines, the one that people need."""

from __future__ import annotations

import pytest

from strategy_core.runtime.error_message import cause, type_and_cause

LOST_PEER = """2 root error(s) found.
  (0) UNAVAILABLE: {{function_node __wrapped__Identity_device_/job:chief/task:0/device:CPU:0}} \
failed to connect to all addresses; last error: UNKNOWN: 127.0.0.1: refused
Additional GRPC error information from remote target /job:worker/replica:0/task:1/device:CPU:0:
  (1) CANCELLED: RecvFromRemoteAsync is cancelled.
0 successful operations."""
IN_A_GRAPH = """Graph execution error:

Detected at node 'gradient_tape/sum' defined at (most recent call last):
    File "/x/training.py", line 3, in <module>
Input is not finite
"""
IN_A_LAYER = """Exception encountered when calling Narrow.call().

\x1b[1mno room for it\x1b[0m

Arguments received by Narrow.call():
"""


IN_USER_CODE = """in user code:

    File "/x/training.py", line 3, in step  *
        return strategy.run(
            replica
        )
    File "/x/training.py", line 7, in replica  *
        return tf.ones(2) + tf.ones(3)

    ValueError: Dimensions must be equal, but are 2 and 3
"""
AFTER_ITS_PLACE = """2 root error(s) found.
  (0) INVALID_ARGUMENT: {{function_node __inference_step_7}}

!!! Detected Infinity or NaN in output 0 of graph op "Log"
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (IN_USER_CODE, "Dimensions must be equal, but are 2 and 3"),
        (AFTER_ITS_PLACE, '!!! Detected Infinity or NaN in output 0 of graph op "Log"'),
        ("no such device", "no such device"),
        (
            LOST_PEER,
            "failed to connect to all addresses; last error: UNKNOWN: 127.0.0.1: refused",
        ),
        (IN_A_GRAPH, "Input is not finite"),
        (IN_A_LAYER, "no room for it"),
        ("{{node loss}} Loss is NaN", "Loss is NaN"),
        ("{{node loss}}", "{{node loss}}"),
        ("  \n\n", "no message"),
    ],
)
def test_the_line_that_names_the_cause_is_found(text: str, expected: str) -> None:
    assert cause(RuntimeError(text)) == expected


def test_a_failed_run_is_named_by_type_and_cause_and_not_by_the_headline_of_a_graph_error() -> None:
    assert type_and_cause(ValueError(IN_A_GRAPH)) == "ValueError: Input is not finite"
    assert type_and_cause(ValueError()) == "ValueError"
