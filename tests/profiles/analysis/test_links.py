"""Bytes per step between processes, out of counts with a known truth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.analysis.derived_links import FROM_COLLECTIVES, FROM_PARAMETERS
from strategy_profiles.analysis.links import (
    ALONE,
    COUNTED_ONCE,
    HEADER_BYTES,
    Link,
    Links,
    links,
)
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import LinkBytes
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run
from tests.synthetic.recipe import EPOCH_NS

WORKERS = 3
BYTES = 1_000_000
"""Sent per step by each worker to the next."""
START = {"sent_bytes": 77, "received_bytes": 5_555, "sent_packets": 3, "received_packets": 9}
"""What a connection carried before its segment."""


def connection(peer: int | None, opened: bool, sent: int, received: int) -> dict[str, Any]:
    return {
        "peer": peer,
        "opened": opened,
        "sent_bytes": START["sent_bytes"] + sent,
        "received_bytes": START["received_bytes"] + received,
        "sent_packets": START["sent_packets"] + sent // 1000,
        "received_packets": START["received_packets"] + received // 1000,
        "retransmitted_bytes": sent // 1000,
        "rtt_ms": 0.25,
    }


def counted(worker: int, step: int | None, num_steps: int) -> LinkBytes:
    """Worker w sends w + 1 the bytes of each step; the receiver opened the connection."""
    before, after = (worker - 1) % WORKERS, (worker + 1) % WORKERS
    carried = BYTES * num_steps
    return LinkBytes(
        segment=None if step is None else 0,
        step=step,
        links=[
            connection(before, True, 0, carried),
            connection(after, False, carried, 0),
            connection(None, True, 123 * num_steps, 456),
        ],
        interface={
            "name": "lab0",
            "sent_bytes": carried + carried // 1000 + 10 * HEADER_BYTES * num_steps,
            "received_bytes": carried + carried // 1000 + 10 * HEADER_BYTES * num_steps,
            "sent_packets": 10 * num_steps,
            "received_packets": 10 * num_steps,
        },
    )


def write_counts(
    run: Path, worker: int, events: Sequence[tuple[int, LinkBytes]], generation: int = 0
) -> None:
    """Append counts to a worker's events, each at so many ns after the epoch of the run."""
    at_ns = EPOCH_NS
    log = EventLog(worker_folder(run, worker, generation).events, now_ns=lambda: at_ns)
    for after_ns, event in events:
        at_ns = EPOCH_NS + after_ns
        log.write(event)
    log.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(
        tmp_path / "run", replicas=WORKERS, workers=WORKERS, steps=30, global_batch_size=252
    )


def step_ends_ns(run: Path) -> list[int]:
    """The end of each step, after the epoch of the run."""
    steps = strategy_profiles.load(run).table("steps")
    starts, lengths = steps["start_ns"].to_pylist(), steps["wall_ms"].to_pylist()
    both = zip(starts, lengths, strict=True)
    return [start + int(wall_ms * 1e6) - EPOCH_NS for start, wall_ms in both]


def links_of(run: Path) -> Links:
    profile = strategy_profiles.load(run)
    return links(profile, profile.segments[0])


def by_pair(run_links: Links) -> dict[tuple[int, int], Link]:
    return {(link.from_worker, link.to_worker): link for link in run_links.links}


def test_bytes_per_step_are_the_growth_between_the_first_and_the_last_count(run: Path) -> None:
    for worker in range(WORKERS):
        steps = (1, 11, 21)
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in steps])
    run_links = links_of(run)
    assert run_links.reason is None
    assert run_links.num_steps == 20
    pairs = by_pair(run_links)
    for worker in range(WORKERS):
        link = pairs[worker, (worker + 1) % WORKERS]
        assert link.bytes == BYTES, "each connection once, though both ends counted it"
        assert link.retransmitted_bytes == BYTES / 1000, "the sender's word, who did not open it"
        assert link.packets == BYTES / 1000
        assert pairs[(worker + 1) % WORKERS, worker].bytes == 0


def test_headers_are_derived_from_the_packets(run: Path) -> None:
    for worker in range(WORKERS):
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in (1, 21)])
    run_links = links_of(run)
    assert by_pair(run_links)[0, 1].header_bytes == HEADER_BYTES * BYTES / 1000
    assert run_links.header_share == pytest.approx(HEADER_BYTES / 1000)


def test_the_derived_ring_is_shown_beside_the_measured_bytes(run: Path) -> None:
    for worker in range(WORKERS):
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in (1, 21)])
    run_links = links_of(run)
    profile = strategy_profiles.load(run)
    (use,) = profile.summary()["segments"][0]["collectives"]
    share = 2 * (WORKERS - 1) / WORKERS * use["bytes"]
    assert run_links.derived_from == FROM_COLLECTIVES
    ring = {pair for pair, link in by_pair(run_links).items() if link.derived_bytes is not None}
    assert ring == {(0, 1), (1, 2), (2, 0)}
    link = by_pair(run_links)[0, 1]
    assert link.derived_bytes == pytest.approx(share)
    assert link.overhead == pytest.approx(BYTES / share - 1)
    assert run_links.overhead == pytest.approx(BYTES / share - 1)


def test_an_interface_is_explained_by_links_headers_and_what_was_sent_again(run: Path) -> None:
    for worker in range(WORKERS):
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in (1, 21)])
    run_links = links_of(run)
    assert len(run_links.interfaces) == 2 * WORKERS
    for use in run_links.interfaces:
        assert use.payload_bytes == BYTES
        assert use.header_bytes == 10 * HEADER_BYTES
        assert use.unexplained == pytest.approx(0, abs=1e-9)
        assert use.overhead == pytest.approx((BYTES / 1000 + 660) / BYTES)


def test_links_of_a_worker_without_counts_come_from_its_peers(run: Path) -> None:
    for worker in (0, 1):
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in (1, 21)])
    pairs = by_pair(links_of(run))
    assert pairs[1, 2].bytes == BYTES, "worker 1 counted what worker 2 fetched"
    assert pairs[2, 0].bytes == BYTES, "worker 0 opened that connection"


def test_a_restarted_worker_adds_to_the_counts_of_the_one_before(run: Path) -> None:
    for worker in range(WORKERS):
        write_counts(run, worker, [(step, counted(worker, step, step)) for step in (1, 11)])
    write_counts(run, 1, [(step, counted(1, step, step)) for step in (12, 21)], generation=1)
    pairs = by_pair(links_of(run))
    assert pairs[0, 1].bytes == BYTES
    assert pairs[1, 2].bytes == BYTES


def test_a_segment_of_one_process_has_no_links_though_another_has(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30)
    write_counts(run, 0, [(1, counted(0, 1, 1)), (2, counted(0, 9, 9))])
    assert links_of(run).reason == ALONE


def test_a_process_without_steps_is_measured_over_time(run: Path) -> None:
    ends = step_ends_ns(run)
    for worker in range(WORKERS):
        at = [(ends[step - 1], counted(worker, None, step)) for step in (10, 20)]
        write_counts(run, worker, at)
    run_links = links_of(run)
    assert run_links.num_steps == pytest.approx(10, rel=0.01)
    assert by_pair(run_links)[0, 1].bytes == pytest.approx(BYTES, rel=0.01)


def test_a_run_without_usable_counts_says_why(run: Path, tmp_path: Path) -> None:
    write_counts(run, 0, [(1, counted(0, 1, 1))])
    run_links = links_of(run)
    assert run_links.reason == COUNTED_ONCE
    assert all(link.bytes is None for link in run_links.links)
    write_counts(run, 0, [(2, LinkBytes(0, 2, [], None, "this system does not tell"))])
    assert links_of(run).reason == "this system does not tell"

    alone = write_run(tmp_path / "alone", replicas=2, steps=30, global_batch_size=252)
    assert links_of(alone).reason == ALONE
    assert links_of(alone).links == ()


def test_without_a_window_the_parameters_tell_what_is_reduced(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, workers=2, steps=30, windows=0)
    profile = strategy_profiles.load(run)
    run_links = links_of(run)
    (segment,) = profile.segments
    assert segment.parameter_bytes
    assert run_links.derived_from == FROM_PARAMETERS
    assert by_pair(run_links)[0, 1].derived_bytes == segment.parameter_bytes, (
        "2(n-1)/n is 1 for two"
    )


def test_damaged_counts_are_left_out_and_noted(run: Path) -> None:
    write_counts(run, 0, [(2, counted(0, 2, 2))])
    odd = {"kind": "links", "segment": 0, "step": 1, "links": [{"peer": "x", "sent_bytes": "many"}]}
    with (run / "worker-0-0/events.jsonl").open("a") as file:
        file.write(json.dumps(odd) + "\n")
    profile = strategy_profiles.load(run)
    assert profile.table("links").num_rows > 0
    assert any("links" in note for note in profile.notes)
    links(profile, profile.segments[0])


def test_a_cluster_that_was_cut_off_before_its_first_step_has_no_links_and_says_why(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", workers=2, replicas=2, steps=0, windows=0)
    profile = strategy_profiles.load(run)
    run_links = links(profile, profile.segments[0])
    assert len(run_links.names) == 2
    assert not any(link.bytes for link in run_links.links)
    assert run_links.reason


def test_a_process_without_steps_that_counted_once_in_the_segment_is_measured_from_before_it(
    run: Path,
) -> None:
    end = step_ends_ns(run)[-1]
    for worker in range(WORKERS):
        at = [(-1_000_000, counted(worker, None, 0)), (end, counted(worker, None, 30))]
        write_counts(run, worker, at)
    run_links = links_of(run)
    assert run_links.num_steps == 30
    assert by_pair(run_links)[0, 1].bytes == BYTES


def test_a_link_of_a_process_without_counts_is_unknown_if_its_peer_cannot_name_it(
    run: Path,
) -> None:
    """What the peer opened is only a part: of a push to a server the server opens the rest."""

    def unnamed(step: int) -> LinkBytes:
        links = [connection(2, True, 0, step), connection(None, False, 0, BYTES * step)]
        return LinkBytes(0, step, links, None)

    write_counts(run, 0, [(step, unnamed(step)) for step in (1, 21)])
    assert by_pair(links_of(run))[2, 0].bytes is None
