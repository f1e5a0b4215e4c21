"""The trace: valid by the format's own rules, and true to the tables."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.tables.store import Profile
from tests.plugins.chrome.trace_event_format import Event, check_trace
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.slow


def _trace(profile: Profile, path: Path) -> list[Event]:
    return check_trace(write(profile, "chrome-trace", path).read_text(encoding="utf-8"))


def _names_by_process(events: list[Event], kind: str) -> dict[int, str]:
    return {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == kind}


def test_replicas_are_named_processes_in_order(straggling: Profile, target: Path) -> None:
    events = _trace(straggling, target)
    names = _names_by_process(events, "process_name")
    order = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    titles = [names[pid] for pid in sorted(names, key=lambda pid: order[pid])]
    assert titles[0] == "Run"
    assert [title.split(" · ")[0] for title in titles[1:]] == [f"replica {i}" for i in range(4)]
    assert "CPU:2" in titles[3]


def test_every_row_is_drawn_once(straggling: Profile, target: Path) -> None:
    kinds = Counter(e.get("cat") for e in _trace(straggling, target) if e["ph"] == "X")
    rows = {name: straggling.table(name).num_rows for name in ("steps", "replica_steps", "spans")}
    transfers = straggling.table("transfers").num_rows
    assert kinds["step"] == rows["steps"] + rows["replica_steps"]
    assert kinds["compute"] + kinds["collective"] + kinds["input"] == rows["spans"]
    assert kinds["transfer"] == 2 * transfers
    assert kinds["segment"] == 1


def test_times_are_microseconds_from_the_start_of_the_run(
    straggling: Profile, target: Path
) -> None:
    events = _trace(straggling, target)
    steps = [e for e in events if e["ph"] == "X" and e["cat"] == "step" and e["pid"] == 1]
    assert steps[0]["ts"] == 0
    lengths = straggling.table("steps")["wall_ms"].to_pylist()
    assert steps[40]["dur"] == pytest.approx(lengths[40] * 1e3, abs=0.2)


def test_flows_lead_from_the_last_rank_to_the_others(straggling: Profile, target: Path) -> None:
    events = _trace(straggling, target)
    home = dict(_names_by_process(events, "process_name").items())
    first = [e for e in events if e["ph"] == "s" and e["name"].endswith("CollectiveReduceV2_0")]
    assert len(first) == 30 * 3  # steps captured in full, and the three that waited in each
    assert {home[e["pid"]].split(" · ")[0] for e in first} == {"replica 2"}


def test_flows_lead_from_each_send_to_its_receive(straggling: Profile, target: Path) -> None:
    events = _trace(straggling, target)
    home = {
        pid: name.split(" · ")[0] for pid, name in _names_by_process(events, "process_name").items()
    }
    ends = {
        (e["id"], e["ph"]): home[e["pid"]]
        for e in events
        if e["ph"] in "sf" and e["name"] == "loss"
    }
    pairs = Counter((ends[flow, "s"], ends[flow, "f"]) for flow, phase in ends if phase == "s")
    assert pairs == {(f"replica {i}", "replica 0"): 30 for i in (1, 2, 3)}


def test_a_chrome_trace_has_counters_of_steps_and_memory(straggling: Profile, target: Path) -> None:
    counts = Counter(e["name"] for e in _trace(straggling, target) if e["ph"] == "C")
    steps = straggling.table("steps").num_rows
    assert counts["loss"] == counts["step time (ms)"] == counts["throughput (examples/s)"] == steps
    memory = [count for name, count in counts.items() if name.startswith("memory of")]
    assert sum(memory) == straggling.table("memory").num_rows


def test_a_path_that_ends_in_gz_is_gzipped(straggling: Profile, tmp_path: Path) -> None:
    plain = write(straggling, "chrome-trace", tmp_path / "run.json").read_text(encoding="utf-8")
    packed = write(straggling, "chrome-trace", tmp_path / "run.json.gz")
    assert gzip.decompress(packed.read_bytes()).decode() == plain
    assert packed.stat().st_size < len(plain) / 5


@pytest.mark.parametrize(
    "options",
    [
        {"replicas": 1, "strategy": "one-device"},
        {"replicas": 8, "workers": 4, "strategy": "multi-worker-mirrored"},
        {"segments": [{}, {"replicas": 2, "strategy": "central-storage"}]},
        {"prefix": HOSTILE, "nan_loss_from": 3},
        {"steps": 0, "windows": 0, "ending": None},
        {"missing": ("spans", "environment", "launcher"), "ending": "failed"},
    ],
    ids=["one replica", "four workers", "two segments", "hostile", "empty", "damaged"],
)
def test_every_kind_of_run_gives_a_valid_trace(tmp_path: Path, options: dict) -> None:
    run = write_run(tmp_path / "run", **{"steps": 60, **options})
    _trace(strategy_profiles.load(run), tmp_path / "trace.json")


@pytest.mark.run
def test_a_real_run(finished_run: Path, target: Path) -> None:
    profile = strategy_profiles.load(finished_run)
    events = _trace(profile, target)
    slices = Counter(e["cat"] for e in events if e["ph"] == "X")
    assert slices["compute"] > 0
    names = [e["name"] for e in events if e["ph"] == "s"]
    assert any("CollectiveReduce" in name for name in names)
    assert len(names) > profile.table("transfers").num_rows / 2


def test_metadata_says_which_run(straggling: Profile, target: Path) -> None:
    about = json.loads(write(straggling, "chrome-trace", target).read_text())["otherData"]
    assert about["run"] == "straggling"
    assert about["starts_at_epoch_ns"] == straggling.table("steps")["start_ns"][0].as_py()


def test_a_core_has_lanes_of_its_own(target: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "tpu", strategy="tpu", replicas=2, cores_per_replica=2, steps=60)
    events = _trace(strategy_profiles.load(run), target)
    lanes = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {"ops of CPU:0", "ops of CPU:2"} <= lanes
