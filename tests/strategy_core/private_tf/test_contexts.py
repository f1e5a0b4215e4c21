"""Says clearly which private name of TensorFlow is gone."""

from __future__ import annotations

import importlib

import pytest

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
