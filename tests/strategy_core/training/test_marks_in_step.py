"""Light marks cost few ops and no fetch of their own: a step gives one tensor, with them or not."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NUM_REPLICAS = 2
OPS_PER_REPLICA = 6
"""Three timestamps, the batch that waits for the first (features, labels), and their stack."""
OPS_PER_STEP = 2
"""The sums as float64, and all that the step gives in one tensor."""


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "marked"])
def segment(request: pytest.FixtureRequest) -> Any:
    from strategy_core.training import segment

    return segment.build(_spec(request.param))


def _spec(marks: bool) -> Any:
    from strategy_profiles.spec.run_spec import parse_spec

    fields = {"devices": f"cpu:{NUM_REPLICAS}", "workload": "digits-mlp", "global_batch_size": 8}
    return parse_spec(fields).with_changes({"capture.marks": marks})


def _ops(marks: bool) -> Counter[str]:
    """The ops of the traced step, by type."""
    from strategy_core.training import segment

    built = segment.build(_spec(marks))
    traced = built.custom.step.get_concrete_function(*next(built.custom.batches))
    assert len(traced.outputs) == 1
    return Counter(op.type for op in traced.graph.get_operations())


def test_marks_add_few_ops() -> None:
    bare, marked = _ops(marks=False), _ops(marks=True)
    added = marked - bare
    assert added["Timestamp"] == 3 * NUM_REPLICAS
    assert added.total() <= OPS_PER_REPLICA * NUM_REPLICAS + OPS_PER_STEP


def test_a_step_returns_loss_examples_and_timestamps_in_one_tensor(segment: Any) -> None:
    from strategy_core.training.train_step import marks_ns

    before_ns = time.time_ns()
    numbers = segment.custom.step(*next(segment.custom.batches)).numpy().tolist()
    after_ns = time.time_ns()
    loss, examples, *seconds = numbers
    assert 0 < loss < 100
    assert examples == 8
    marks = marks_ns(seconds)
    if not segment.spec.capture.marks:
        assert marks is None
        return
    found_ns = np.asarray(marks)
    assert found_ns.shape == (NUM_REPLICAS, 3)
    assert np.all(np.diff(found_ns, axis=1) >= 0)
    assert before_ns - 1000 <= found_ns.min() <= found_ns.max() <= after_ns + 1000


def test_marks_are_integer_nanoseconds_per_replica() -> None:
    from strategy_core.training.train_step import marks_ns

    assert marks_ns([1, 2, 3, 4, 5, 6.5]) == [
        [10**9, 2 * 10**9, 3 * 10**9],
        [4 * 10**9, 5 * 10**9, 6_500_000_000],
    ]
