"""Which layer of the model an op belongs to, by its name."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis.account.op_time import line_of_loop
from strategy_profiles.analysis.scopes import layer_of, models, scoped


@pytest.mark.parametrize(
    ("name", "path", "is_gradient"),
    [
        ("replica_1/model/dense/MatMul", ("model", "dense", "MatMul"), False),
        ("gradient_tape/replica_1/model/dense/MatMul", ("model", "dense", "MatMul"), True),
        ("StatefulPartitionedCall_2/adam/update_1/Mul", ("adam", "update_1", "Mul"), False),
        ("ConstantFolding/gradient_tape/model/a/b", ("model", "a", "b"), True),
        ("replica_0/core_1/adam/Sub", ("adam", "Sub"), False),
        ("AddN_3", ("AddN_3",), False),
        (
            "gradient_tape/while/while_grad/body/_6/gradient_tape/while/gradients/while/model/a/b",
            ("model", "a", "b"),
            True,
        ),
        ("cond/then/_0/cond/sort/TopKV2", ("sort", "TopKV2"), False),
    ],
)
def test_scopes_that_are_no_layers_are_removed(
    name: str, path: tuple[str, ...], is_gradient: bool
) -> None:
    assert scoped(name).path == path
    assert scoped(name).is_gradient is is_gradient


def test_a_model_inside_a_model_has_the_layers() -> None:
    names = [scoped(f"model/backbone/layer_{n}/MatMul") for n in range(9)]
    names += [scoped("model/head/MatMul"), scoped("gradient_tape/model/backbone/layer_1/MatMul")]
    of_models = models(names)
    assert of_models == {("model", "backbone")}
    assert layer_of(names[3], of_models) == "layer_3"


def test_the_line_of_a_loop_in_a_branch_is_found_whatever_the_replica() -> None:
    lines = {
        "cond/then/_0/cond/while/body/_112/cond/while/Tanh": "train.py:34",
        "cond/then/_0/cond/while/body/_112/cond/while/add": "train.py:34",
        "cond/then/_0/cond/while/cond/_111/cond/while/Less": "train.py:33",
        "cond/else/_1/cond/Const": "train.py:50",
    }
    assert line_of_loop(lines, "cond/then/_15/cond/while") == "train.py:33"


def test_the_line_of_a_loop_is_found_by_its_name_on_another_device() -> None:
    lines = {"replica_1/while/body/_1/while/MatMul": "train.py:47"}
    assert line_of_loop(lines, "_cloopreplica_1/while") == "train.py:47"
