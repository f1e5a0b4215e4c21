"""Says clearly which private name of TensorFlow is gone."""

from __future__ import annotations

import importlib

import pytest

from tests.strategy_core.private_tf.lost_name import said_without

pytestmark = pytest.mark.tf


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tensorflow.python.distribute.distribute_lib", "UpdateContext"),
        ("tensorflow.python.distribute.distribute_lib", "ReplicaContextBase"),
        ("tensorflow.python.distribute.distribute_lib", "StrategyBase"),
        ("tensorflow.python.distribute.distribute_lib", "StrategyExtendedV1"),
        ("tensorflow.python.distribute.distribute_lib", "get_update_replica_id"),
        ("tensorflow.python.distribute.distribute_lib", "_get_default_replica_context"),
        ("tensorflow.python.util.tf_decorator", "make_decorator"),
        ("tensorflow.python.util.tf_stack", "_source_mapper_stacks"),
    ],
)
def test_tensorflow_still_has_it(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name), (
        f"TensorFlow no longer has {module}.{name}"
    )


@pytest.mark.parametrize("name", ["get_update_replica_id", "StrategyBase"])
def test_a_name_that_is_gone_costs_no_strategy(name: str) -> None:
    module = "tensorflow.python.distribute.distribute_lib"
    said = said_without(module, name, "strategy_contexts.private_tf")
    assert said.startswith(f"The trace of contexts needs {module}:{name}")
