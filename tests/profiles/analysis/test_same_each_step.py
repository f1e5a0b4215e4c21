"""Ops that compute the same in each step are separated from those that data or updates reach."""

from __future__ import annotations

from strategy_profiles.analysis.same_each_step import varying_nodes
from strategy_profiles.capture.graph import Graph, Node

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _varying(*nodes: tuple[str, str, tuple[str, ...]]) -> set[str]:
    made = [Node(at, 0, name, op, DEVICE, inputs) for at, (name, op, inputs) in enumerate(nodes)]
    return {made[at].name for at in varying_nodes(Graph(made, [DEVICE]))}


FROZEN = ("table", "_Arg", ()), ("read", "ReadVariableOp", ("table",))
TRAINED = (
    ("weights", "_Arg", ()),
    ("value", "ReadVariableOp", ("weights",)),
    ("update", "AssignSubVariableOp", ("weights", "value")),
)


def test_what_comes_of_constants_and_of_variables_that_are_only_read_is_the_same() -> None:
    shift = ("shift", "Const", ()), ("sum", "AddV2", ("read", "shift"))
    assert _varying(*FROZEN, *shift, ("inverse", "MatrixInverse", ("sum",))) == set()


def test_what_an_update_or_the_data_of_a_step_reaches_varies() -> None:
    product = ("product", "MatMul", ("read", "value"))
    assert "product" in _varying(*FROZEN, *TRAINED, product)
    of_data = ("x", "_Arg", ()), ("product", "MatMul", ("read", "x"))
    assert _varying(*FROZEN, *of_data) == {"x", "product"}


def test_a_tensor_that_the_function_captured_is_known_by_its_name() -> None:
    captured = ("matmul_1_b", "_Arg", ()), ("matmul_1/x", "Const", ())
    product = ("MatMul_1", "MatMul", ("matmul_1/x", "matmul_1_b"))
    assert _varying(*captured, product) == set()


def test_random_numbers_and_what_is_not_in_the_graph_vary() -> None:
    shape = ("shape", "Const", ())
    assert _varying(shape, ("noise", "RandomStandardNormal", ("shape",))) == {"noise"}
    assert _varying(shape, ("noise", "StatelessRandomNormalV2", ("shape",))) == set()
    assert _varying(shape, ("sum", "AddV2", ("shape", "of_another_device"))) == {"sum"}
    assert _varying(("taken", "_Recv", ())) == {"taken"}
