"""Two hosts that share nothing but a cable: started one by one, collected, looked at as one run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import strategy_profiles
from strategy_collect.merge_hosts import collect
from strategy_profiles.analysis.links import links
from strategy_profiles.timeline import lay_out
from tests.e2e.following import events
from tests.e2e.separate_hosts import WIRE, address, clock_ahead, two_hosts, why_not
from tests.event_records import run_records
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
BEHIND_MS = 50.0
"""Of the second host's clock."""
LATE_MS = 200.0
NUM_STEPS = 30
CLUSTER = ",".join(f"{address(number)}:2222" for number in range(2))
WORKER = (
    *(sys.executable, "-m", "strategy_core", "worker", "--cluster", CLUSTER, "-o", "run"),
    *("--workload", "digits-mlp", "--global-batch-size", "64", "--steps", str(NUM_STEPS)),
    *("--inject", f"delay:worker=1,replica=0,ms={LATE_MS:g}"),
    # The machine may be busy: what is tested here is not how long that takes.
    *("--start-timeout", "180", "--set", "cluster.heartbeat_timeout_s=60"),
)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What each host wrote, on the machine to which it was copied."""
    refused = why_not()
    if refused is not None:
        pytest.skip(f"this system gives no hosts of their own: {refused}")
    folder = tmp_path_factory.mktemp("separate")
    has_compiler = shutil.which("cc") is not None
    clocks = [{}, clock_ahead(round(-BEHIND_MS * 1e6)) if has_compiler else {}]
    with two_hosts(folder, [WORKER, WORKER], clocks) as hosts:
        ends = [host.end() for host in hosts]
        assert [code for code, _, _ in ends] == [0, 0], ends
        return [host.bring_home(folder / host.name) for host in hosts]


@pytest.fixture(scope="module")
def whole(parts: list[Path]) -> strategy_profiles.Profile:
    """Both as one run, by the command."""
    run = parts[0].parent / "whole"
    done = subprocess.run(
        [sys.executable, "-m", "strategy_core", "collect", *(p / "run" for p in parts), "-o", run],
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return strategy_profiles.load(run)


def test_each_host_has_only_its_own_part(parts: list[Path], tmp_path: Path) -> None:
    for number, part in enumerate(parts):
        names = {path.name for path in (part / "run").glob("worker-*")}
        assert names == {f"worker-{number}-0"}
        assert collect([part / "run"], tmp_path / part.name).missing == (f"worker {1 - number}",)


def test_the_whole_is_one_run_of_both_hosts(whole: strategy_profiles.Profile) -> None:
    assert whole.status.state == "finished"
    launched = run_records(whole.path, "launched")
    assert sorted((r["worker"], r["host"], r["address"]) for r in launched) == [
        (number, f"host-{'ab'[number]}", f"{address(number)}:2222") for number in range(2)
    ]
    losses = [
        [r["loss"] for r in events(whole.path, "step") if r["worker"] == number]
        for number in range(2)
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == NUM_STEPS


def test_its_clocks_are_compared_and_the_late_worker_named_on_one_timeline(
    whole: strategy_profiles.Profile,
) -> None:
    summary = whole.summary()
    reference, other = summary["clocks"]
    assert (reference["source"], other["source"]) == ("reference", "measured")
    truth_ms = BEHIND_MS if shutil.which("cc") is not None else 0.0
    assert abs(other["offset_ms"] - truth_ms) <= max(0.05 * truth_ms, other["uncertainty_ms"])
    straggler = summary["segments"][0]["straggler"]
    assert straggler["worker"] == 1
    assert 0.5 * LATE_MS < straggler["late_ms"] < 3 * LATE_MS
    assert {track.worker for track in lay_out(whole).tracks} == {0, 1}


def test_bytes_between_them_are_those_of_the_cable(
    whole: strategy_profiles.Profile, parts: list[Path]
) -> None:
    found = links(whole, whole.segments[0])
    assert found.reason is None
    for number, part in enumerate(parts):
        *_, last = [r for r in events(whole.path, "links") if r["worker"] == number]
        assert 1 - number in {link["peer"] for link in last["links"]}
        reported = sum(link["sent_bytes"] for link in last["links"])
        counted = sent_on_cable(part)
        assert 0.9 * reported < counted < 1.3 * reported + 200_000, (
            "frames have headers, bytes have not"
        )


def sent_on_cable(part: Path) -> int:
    """What the kernel counted on the host's end of it."""
    for line in (part / "net-dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == WIRE:
            return int(counts.split()[8])
    raise AssertionError(f"no {WIRE}")
