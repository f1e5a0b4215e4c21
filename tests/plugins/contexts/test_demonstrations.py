"""Every demonstration switches contexts exactly as expected, on 4 replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_contexts import course
from strategy_contexts.demonstrations import COURSE
from tests.plugins.contexts.transcript import EXPECTED, REPLICAS, record, transcript

pytestmark = pytest.mark.tf

FAILING = {
    "wrong_context": "Method requires being in cross-replica context",
    "nested_scopes_and_mixing": "Mixing different tf.distribute.Strategy objects",
    "unequal_merge_calls": "different number of replica_context().merge_call() calls",
}


@pytest.mark.parametrize("name", COURSE)
def test_every_demonstration_records_the_expected_switches(name: str, tmp_path: Path) -> None:
    recording = record(name, REPLICAS, tmp_path)
    expected = (EXPECTED / f"{name}.txt").read_text()
    assert transcript(recording.to_json()) == expected
    assert (recording.error is not None) == (name in FAILING)
    if recording.error:
        assert FAILING[name] in recording.error["message"]
        assert recording.error["explanation"]["instead"]


def test_the_course_lists_every_demonstration_file() -> None:
    files = {path.stem for path in course.FOLDER.glob("*.py")} - {"__init__"}
    assert set(COURSE) == files
    assert all(item.title and item.text for item in course.demonstrations())


def printed(name: str, num_replicas: int, folder: Path) -> list[str]:
    return [line["text"] for line in record(name, num_replicas, folder).trace["printed"]]


def test_the_mean_of_a_partial_batch_weighs_examples_and_not_replicas(tmp_path: Path) -> None:
    # Replica 0 has losses 1, 1; replica 1 has 2: means 1 and 2, examples 1, 1, 2.
    assert printed("reduce_and_partial_batches", 2, tmp_path) == [
        "mean of the replicas' means: 1.5",
        "mean of the examples: 1.3333",
        "sum of the examples: 4.0",
    ]


def test_the_gradient_of_an_all_reduce_is_an_all_reduce(tmp_path: Path) -> None:
    # total = 1 + 2 = 3, loss = total^2 on each of 2 replicas: d/dx sums 2 * 3 over both.
    assert printed("all_reduce_and_gradients", 2, tmp_path) == [
        "replica 0 sum 3.0 mean 1.5 gradient 12.0",
        "replica 1 sum 3.0 mean 1.5 gradient 12.0",
    ]


def test_a_sync_on_read_variable_reads_by_its_aggregation(tmp_path: Path) -> None:
    assert printed("sync_on_read_variables", 4, tmp_path) == [
        "SUM holds [1.0, 2.0, 3.0, 4.0] and reads as 10.0",
        "MEAN holds [1.0, 2.0, 3.0, 4.0] and reads as 2.5",
        "ONLY_FIRST_REPLICA holds [1.0, 2.0, 3.0, 4.0] and reads as 1.0",
    ]
