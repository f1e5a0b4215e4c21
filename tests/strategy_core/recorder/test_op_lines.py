"""The line of the program that made an op of a traced graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from strategy_core.recorder import op_lines as tested
from strategy_core.recorder.op_lines import op_lines
from strategy_core.runtime.live_objects import instances
from strategy_profiles.capture.graph import Node

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def product(value: tf.Tensor) -> tf.Tensor:
    with tf.name_scope("dense"):
        return tf.matmul(value, value)


def loss(value: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(value)
        result = tf.reduce_sum(product(value))
    return tape.gradient(result, value)


def traced(function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    return tf.function(function).get_concrete_function(tf.TensorSpec([2, 2])).graph


def line_of(function: Callable[..., Any], text: str) -> str:
    lines, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + next(at for at, line in enumerate(lines) if text in line)}"


def node(name: str, size: int = 4) -> Node:
    return Node(0, 0, name, "MatMul", "/device:CPU:0", (), bytes=size)


@pytest.mark.parametrize(
    "name",
    [
        "dense/MatMul",
        "StatefulPartitionedCall/StatefulPartitionedCall/dense/MatMul",
        "gradient_tape/dense/MatMul/MatMul_1",
        "replica_1/dense/MatMul",
    ],
)
def test_an_op_its_gradient_and_its_copies_have_the_line_that_made_it(name: str) -> None:
    nodes = [node("dense/MatMul"), node(name)]
    assert op_lines(nodes, [traced(loss)])[1] == line_of(product, "tf.matmul")


def doubled(row: tf.Tensor) -> tf.Tensor:
    return row * 2.0


def test_an_op_of_a_loop_has_the_line_in_its_body_and_the_loop_the_line_that_made_it() -> None:
    def rows(value: tf.Tensor) -> tf.Tensor:
        return tf.map_fn(doubled, value)

    graph = traced(rows)  # keeps the graph of the body alive
    nodes = [
        node("map/while/body/_12/map/while/mul"),
        node("map/while/LoopCond/_7"),
        node("map/while"),
    ]
    lines = op_lines(nodes, instances(tf.Graph))
    assert graph.get_operations()
    of_loop = line_of(rows, "tf.map_fn")
    assert lines == [line_of(doubled, "2.0"), of_loop, of_loop]


def test_an_op_of_a_branch_has_the_line_in_the_branch() -> None:
    def chosen(value: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.size(value) > 3, lambda: doubled(value), lambda: value)

    graph = traced(chosen)  # keeps the graphs of the branches alive
    (line,) = op_lines([node("cond/then/_0/cond/mul")], instances(tf.Graph))
    assert graph.get_operations()
    assert line == line_of(doubled, "2.0")


def test_an_op_of_no_live_graph_has_no_line() -> None:
    assert op_lines([node("dense/MatMul")], []) == [None]
    assert op_lines([node("dense/MatMul")], [None]) == [None]
    assert op_lines([node("other/MatMul")], [traced(loss)]) == [None]


def test_only_the_ops_with_the_largest_results_get_their_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tested, "MOST_OPS", 1)
    nodes = [node("Sum", 4), node("dense/MatMul", 16)]
    assert op_lines(nodes, [traced(loss)]) == [None, line_of(product, "tf.matmul")]


def attends(value: tf.Tensor) -> tf.Tensor:
    with tf.name_scope("attention"):
        scores = tf.matmul(value, value)
        return tf.nn.softmax(scores)


def test_ops_of_a_scope_whose_size_depends_on_the_batch_have_lines_of_their_own() -> None:
    names, texts = ("MatMul", "Softmax"), ("tf.matmul", "tf.nn.softmax")
    nodes = [Node(0, 0, f"attention/{name}", name, "/device:CPU:0", ()) for name in names]
    lines = op_lines(nodes, [traced(attends)])
    assert lines == [line_of(attends, text) for text in texts]


def cells(value: tf.Tensor) -> tf.Tensor:
    for _ in range(4):
        with tf.name_scope("cell"):
            value = tf.matmul(value, value)
        with tf.name_scope("norm"):
            value = tf.nn.softmax(value)
    return value


def test_the_scopes_of_an_unrolled_loop_have_the_line_of_the_one_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tested, "MOST_OPS", 2)
    numbers = ("", "_1", "_2", "_3")
    nodes = [node(f"cell{number}/MatMul", 16) for number in numbers]
    nodes += [node(f"norm{number}/Softmax", 8) for number in numbers]
    nodes.append(node("gradient_tape/cell_3/MatMul/MatMul_1"))
    cell, norm = line_of(cells, "tf.matmul"), line_of(cells, "tf.nn.softmax")
    assert op_lines(nodes, [traced(cells)]) == [cell] * 4 + [norm] * 4 + [cell]


def in_replicas(strategy: tf.distribute.Strategy, value: tf.Tensor) -> Any:
    def body(value: tf.Tensor) -> tf.Tensor:
        return tf.matmul(value, value, name="square")

    return strategy.run(body, args=(value,))


def test_an_op_that_a_replica_makes_in_its_thread_has_its_line_in_the_program() -> None:
    """TensorFlow leaves it with the line of the file that AutoGraph generated."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    graph = traced(lambda value: in_replicas(strategy, value))
    assert op_lines([node("square")], [graph]) == [line_of(in_replicas, "tf.matmul")]
