"""Communication and compute of a replica against counting every moment of its spans."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_lab import profiles
from strategy_lab.profiles.analysis.overlap import COMMUNICATION, overlaps
from strategy_lab.profiles.tables.schema import TABLES

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


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SPANS)
def test_lengths_are_those_of_sets_of_moments(tmp_path: Path, spans: list[Span]) -> None:
    window = tmp_path / "worker-0-0" / "window-000000"
    window.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "segment": 0,
            "step": 3,
            "worker": 0,
            "replica": 1,
            "category": category,
            "start_ns": start,
            "duration_ns": length,
        }
        for category, start, length in spans
    ]
    table = pa.Table.from_pylist(rows, schema=TABLES["spans"])
    pq.write_table(table, window / "spans.parquet")
    (found,) = overlaps(profiles.load(tmp_path), 0)
    comm, compute = moments(spans, *COMMUNICATION), moments(spans, "compute")
    assert found.communication_ms * 1e6 == pytest.approx(len(comm))
    assert found.exposed_ms * 1e6 == pytest.approx(len(comm - compute))
    assert found.overlap == (pytest.approx(len(comm & compute) / len(comm)) if comm else None)
