"""Communication and compute of a replica against counting every moment of its spans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.analysis.overlap import overlaps
from strategy_profiles.capture.exposed import COMMUNICATION, exposed_communication
from strategy_profiles.tables.schema import TABLES
from tests.synthetic import write_run

Span = tuple[str, int, int]
SPANS = st.lists(
    st.tuples(
        st.sampled_from(["compute", *COMMUNICATION, "input", "other"]),
        st.integers(0, 60),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=14,
)


def moments(spans: list[Span], *categories: str) -> set[int]:
    return {
        at
        for category, start, length in spans
        if category in categories
        for at in range(start, start + length)
    }


def table(spans: list[Span], step: int, replica: int) -> pa.Table:
    rows = [
        {
            "segment": 0,
            "step": step,
            "worker": 0,
            "replica": replica,
            "category": category,
            "start_ns": start,
            "duration_ns": length,
        }
        for category, start, length in spans
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["spans"])


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SPANS)
def test_lengths_are_those_of_sets_of_moments(tmp_path: Path, spans: list[Span]) -> None:
    window = tmp_path / "worker-0-0" / "window-000000"
    window.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(spans, 3, 1), window / "spans.parquet")
    (overlap,) = overlaps(strategy_profiles.load(tmp_path), 0)
    comm, compute = moments(spans, *COMMUNICATION), moments(spans, "compute")
    assert overlap.communication_ms * 1e6 == pytest.approx(len(comm))
    assert overlap.exposed_ms * 1e6 == pytest.approx(len(comm - compute))
    assert overlap.overlap == (pytest.approx(len(comm & compute) / len(comm)) if comm else None)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), SPANS, min_size=1))
def test_each_step_and_replica_has_lengths_of_its_own(
    by_pair: dict[tuple[int, int], list[Span]],
) -> None:
    parts = [table(spans, *pair) for pair, spans in by_pair.items()]
    lengths = np.stack(exposed_communication(pa.concat_tables(parts).unify_dictionaries()), 1)
    expected = []
    for pair, spans in sorted(by_pair.items()):
        comm, compute = moments(spans, *COMMUNICATION), moments(spans, "compute")
        expected.append([*pair, len(comm), len(comm - compute)])
    assert lengths.tolist() == expected


def test_runs_of_earlier_versions_have_the_same_overlap_from_their_spans(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=40, windows=2, window_steps=5)
    recorded = overlaps(strategy_profiles.load(run), 0)
    for file in run.glob("worker-*/window-*/replica_steps.parquet"):
        rows = pq.read_table(file)
        pq.write_table(rows.drop_columns(["communication_ms", "exposed_ms"]), file)
    derived = overlaps(strategy_profiles.load(run), 0)
    assert [item.replica for item in recorded] == [0, 1]
    for ours, theirs in zip(recorded, derived, strict=True):
        assert ours.num_steps == theirs.num_steps
        assert ours.communication_ms == pytest.approx(theirs.communication_ms)
        assert ours.exposed_ms == pytest.approx(theirs.exposed_ms)
