"""Which loop an op belongs to, by the name that TensorFlow gives it."""

from __future__ import annotations

import pytest

from strategy_profiles.run.op_scopes import loop_in

BODY = "rnn/while/body/_1/rnn/while/cell/MatMul"
GRADIENT = "rnn/while/rnn/while_grad/body/_64/gradient_tape/rnn/while/gradients/AddN"


@pytest.mark.parametrize(
    ("name", "loop"),
    [
        (BODY, "rnn/while"),
        ("rnn/while/cond/_0/rnn/while/Less", "rnn/while"),
        (f"replica_1/{BODY}", "rnn/while"),
        (f"gradient_tape/{GRADIENT}", "rnn/while"),
        (
            "gradient_tape/replica_1/rnn/while/replica_1/rnn/while_grad/body/_197/AddN",
            "rnn/while",
        ),
        (f"StatefulPartitionedCall/{BODY}", "rnn/while"),
        (f"StatefulPartitionedCall/gradient_tape/replica_1/{GRADIENT}", "rnn/while"),
        ("Func/StatefulPartitionedCall/rnn/while/body/_1/input/_5", "rnn/while"),
        ("outer/while/body/_2/inner/while/body/_3/add", "outer/while"),
        ("dense/body/MatMul", None),
        ("while", None),
    ],
)
def test_the_loop_is_the_outermost_one_whatever_the_replica(name: str, loop: str | None) -> None:
    assert loop_in(name) == loop
