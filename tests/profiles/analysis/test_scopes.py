"""Which layer of the model an op belongs to, by its name."""

from __future__ import annotations

import pytest

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
