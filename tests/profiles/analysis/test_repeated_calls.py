"""A model's call with the data of another call is recognised if it has no gradients."""

from __future__ import annotations

from strategy_profiles.analysis.repeated_calls import repeated_scopes
from strategy_profiles.capture.graph import Graph, Node

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _repeated(*nodes: tuple[str, str, tuple[str, ...]]) -> dict[str, str]:
    made = [Node(at, 0, name, op, DEVICE, inputs) for at, (name, op, inputs) in enumerate(nodes)]
    return repeated_scopes(Graph(made, [DEVICE]))


def _call(scope: str, data: str = "images", op: str = "Conv2D") -> tuple[object, ...]:
    read = f"{scope}/conv/ReadVariableOp", "ReadVariableOp", ("kernel",)
    return read, (f"{scope}/conv/{op}", op, (data, read[0]))


ARGUMENTS = ("images", "_Arg", ()), ("others", "_Arg", ()), ("kernel", "_Arg", ())
GRADIENT = (
    "gradient_tape/model/conv/Conv2DBackpropFilter",
    "Conv2DBackpropFilter",
    ("images", "grads"),
)


def test_a_call_without_gradients_on_the_data_of_the_one_that_trains_repeats_it() -> None:
    nodes = *ARGUMENTS, *_call("model"), GRADIENT, *_call("model_1")
    assert _repeated(*nodes) == {"model_1": "model/conv/Conv2D"}


def test_a_call_on_other_data_does_not_repeat() -> None:
    nodes = *ARGUMENTS, *_call("model"), GRADIENT, *_call("model_1", data="others")
    assert _repeated(*nodes) == {}


def test_a_second_call_that_trains_does_not_repeat() -> None:
    second = GRADIENT[0].replace("model/", "model_1/"), *GRADIENT[1:]
    assert _repeated(*ARGUMENTS, *_call("model"), GRADIENT, *_call("model_1"), second) == {}


def test_of_two_calls_without_gradients_the_second_repeats_the_first() -> None:
    nodes = *ARGUMENTS, *_call("model"), *_call("model_1")
    assert _repeated(*nodes) == {"model_1": "model/conv/Conv2D"}


def test_another_op_on_the_same_data_and_variable_does_not_repeat() -> None:
    nodes = *ARGUMENTS, *_call("model"), GRADIENT, *_call("model_1", op="MatMul")
    assert _repeated(*nodes) == {}
