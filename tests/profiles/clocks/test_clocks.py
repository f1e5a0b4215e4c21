"""Clocks of several hosts: planted offsets and drifts are found, and never trusted beyond doubt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.clocks.estimate import Clocks, estimate_clocks
from strategy_profiles.clocks.fit import fit_line
from strategy_profiles.run.event_files import EventSource, source_of
from tests.event_records import source
from tests.synthetic import TWO_HOSTS, write_run
from tests.synthetic.recipe import EPOCH_NS

SECOND = 1_000_000_000


def two_hosts(path: Path, **options: Any) -> strategy_profiles.Profile:
    known = TWO_HOSTS | {"steps": 300, "clock_drift_ppm": (0.0, 40.0)}
    return strategy_profiles.load(write_run(path / "run", **(known | options)))


def measured_at(seconds: float, offset_ns: int, within_ns: int = 20_000) -> dict[str, Any]:
    return {
        "kind": "clock",
        "reference": 0,
        "measured_ns": EPOCH_NS + int(seconds * SECOND),
        "offset_ns": offset_ns,
        "uncertainty_ns": within_ns,
        "round_trip_ns": 2 * within_ns,
        "num_exchanges": 16,
        "source": "udp",
    }


def worker(number: int, host: dict[str, Any] | None, *clock: dict[str, Any]) -> EventSource:
    environment = [{"kind": "environment", "host": host}] if host else []
    return source(number, 0, *environment, *clock)


def clocks_of(*sources: EventSource) -> Clocks:
    return estimate_clocks(sources)


def test_planted_offset_and_drift_are_found(tmp_path: Path) -> None:
    clock = two_hosts(tmp_path).clocks.workers[1]
    assert clock.source == "measured"
    assert clock.line is not None
    since_s = (clock.line.middle_ns - EPOCH_NS) / SECOND
    truth_ns = 50e6 + 40e-6 * since_s * SECOND
    assert clock.offset_ns == pytest.approx(truth_ns, abs=clock.uncertainty_ns)
    assert clock.uncertainty_ns is not None
    assert clock.uncertainty_ns < 60_000
    assert clock.drift == pytest.approx(40e-6, abs=clock.line.drift_uncertainty)


def test_times_of_all_workers_come_to_one_clock(tmp_path: Path) -> None:
    profile = two_hosts(tmp_path)
    rows, clocks = profile.mark_rows, profile.clocks
    reduced = clocks.all_to_reference(rows.worker, rows.reduced_ns)
    # All replicas end a step's all-reduce together: that is the run's truth.
    ends = reduced[np.lexsort((rows.replica, rows.step))].reshape(-1, 4)
    assert np.ptp(ends, axis=1).max() < 100_000
    assert np.ptp(rows.reduced_ns.reshape(2, -1), axis=0).min() > 49_000_000


def test_replicas_wait_across_hosts(tmp_path: Path) -> None:
    profile = two_hosts(tmp_path, straggler=(3, 30.0))
    waits = profile.sql(
        "select replica, median(wait_ms) from marks where step > 0 group by replica order by 1"
    )
    assert waits[1].to_pylist() == pytest.approx([30, 30, 30, 0], abs=1.5)


def test_clocks_without_messages_are_not_compared(tmp_path: Path) -> None:
    profile = two_hosts(tmp_path, straggler=(3, 30.0), clock_measured=False)
    clock = profile.clocks.workers[1]
    assert (clock.source, clock.offset_ns, clock.uncertainty_ns) == (None, None, None)
    assert clock.reason == "it exchanged no messages with the reference worker"
    waits = profile.sql(
        "select replica, median(wait_ms) from marks where step > 0 group by replica order by 1"
    )
    # Replica 2 shares a host with 3, 0 and 1 do not.
    assert waits[1].to_pylist() == pytest.approx([0, 0, 30, 0], abs=1.5)


def test_workers_of_one_host_have_one_clock() -> None:
    here = {"name": "a", "boot": "1"}
    clocks = clocks_of(worker(0, here), worker(1, here, measured_at(1, 5_000, 10_000)))
    assert clocks.workers[1].source == "same host"
    assert (clocks.workers[1].offset_ns, clocks.workers[1].uncertainty_ns) == (0.0, 0.0)
    assert clocks.workers[1].measured is not None


def test_containers_of_one_kernel_share_its_clock_and_like_names_do_not() -> None:
    names = [{"name": "x", "boot": "1"}, {"name": "y", "boot": "1"}, {"name": "x", "boot": "2"}]
    clocks = clocks_of(*(worker(number, host) for number, host in enumerate(names)))
    assert [clocks.workers[n].source for n in range(3)] == ["reference", "same host", None]


def test_messages_that_contradict_a_host_count_more_than_its_name() -> None:
    host = {"name": "a"}
    clocks = clocks_of(worker(0, host), worker(1, host, measured_at(1, 50_000_000)))
    assert clocks.workers[1].source == "measured"
    assert clocks.workers[1].offset_ns == 50_000_000


def test_a_worker_reads_the_clock_that_its_neighbour_measured() -> None:
    clocks = clocks_of(
        worker(0, {"name": "a"}),
        worker(1, {"name": "b"}, measured_at(1, 7_000_000)),
        worker(2, {"name": "b"}),
        worker(3, {"name": "c"}, measured_at(1, 0) | {"offset_ns": None, "reason": "no answer"}),
    )
    assert clocks.to_reference(2, np.array([5])).tolist() == [7_000_005]
    assert clocks.workers[3].reason == "no answer"
    # Workers with one clock are a group; 3 is alone, and 9 is no worker.
    assert clocks.groups(np.array([0, 1, 2, 3, 9])).tolist() == [0, 0, 0, 4, -10]


@pytest.mark.parametrize(
    "field", ["measured_ns", "offset_ns", "uncertainty_ns", "reference", "num_exchanges"]
)
@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, "x", 1.5, True])
def test_odd_records_are_no_clock(field: str, value: object) -> None:
    line = json.dumps(measured_at(1, 50) | {field: value}).encode()
    record = source_of("", 1, 0, [line])
    assert record.left_out.total() == len(record.events) ^ 1
    clocks = clocks_of(worker(0, {"name": "a"}), record)
    assert clocks.to_reference(1, np.array([EPOCH_NS])).tolist()[0] >= 0


@pytest.mark.slow
@given(
    offset_ms=st.floats(-1e6, 1e6),
    drift=st.floats(-300e-6, 300e-6),
    wrong=st.lists(
        st.tuples(st.floats(-1, 1), st.integers(1_000, 2_000_000)), min_size=3, max_size=40
    ),
)
def test_no_line_is_wronger_than_it_says(
    offset_ms: float, drift: float, wrong: list[tuple[float, int]]
) -> None:
    """However the errors fall within their bounds, the truth lies within the line's."""
    at_s = np.arange(len(wrong)) * 2.0
    at_ns = EPOCH_NS + (at_s * SECOND).astype(np.int64)
    truth = offset_ms * 1e6 + drift * (at_ns - EPOCH_NS)
    within = np.array([limit for _, limit in wrong], np.int64)
    offsets_ns = np.rint(truth + np.array([share for share, _ in wrong]) * (within - 1)).astype(
        np.int64
    )
    line = fit_line(at_ns, offsets_ns, within)
    assert np.abs(line.at(at_ns) - truth).max() <= line.uncertainty_ns + 2
    assert line.drift is not None
    assert line.drift_uncertainty is not None
    assert abs(line.drift - drift) <= line.drift_uncertainty + 1e-9


def test_a_clock_that_was_set_widens_the_doubt() -> None:
    at_ns = EPOCH_NS + np.arange(20) * 2 * SECOND
    offsets = np.where(np.arange(20) < 10, 0, 30_000_000)
    line = fit_line(at_ns, offsets, np.full(20, 20_000))
    assert line.uncertainty_ns > 10_000_000


def test_two_measurements_leave_room_for_drift() -> None:
    at_ns = np.array([EPOCH_NS, EPOCH_NS + 4 * SECOND])
    line = fit_line(at_ns, np.array([0, 10_000]), np.array([20_000, 20_000]))
    assert line.drift is None
    assert line.uncertainty_ns == pytest.approx(20_000 + 2 * 50_000)
