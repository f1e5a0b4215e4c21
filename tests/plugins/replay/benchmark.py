"""`python -m tests.plugins.replay.benchmark`: how far replays are off, and how long they take.

1. Replay error of built-in workloads x strategies x 2, 4 and 8 devices: of each captured step
   against its own replay with the launch gaps of others, and of each run's median step.
2. What-if against doing it: an injected delay removed, an input that sleeps against one that does
   not (the latter still takes a little), twice and half the batch, a third batch from one and from
   two recorded ones, and gradients in packs against one pack; on two workers a delay removed, and
   an emulated link of twice the rate (needs root).
3. Time of one replay of 10,000 ops, and of a what-if on it.

The sides of part 2 are segments of one run in turns, each with its own prediction, because runs of
one spec differ by 10 to 20 %. How far neighbours of one spec differ is printed beside the error of
the predictions: no prediction of a single measurement can be better. A run cannot change the rate
of its link, which is measured in runs in turns, the first of a pair now one, now the other. No
spare worker: its imports last as long as a run.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import strategy_profiles
from benchmarks.measuring.record import record_figure
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.step_graph.graph import END_GAP, INLINE, WAKE, Nodes, StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.batch_edit import other_batch
from strategy_replay.engine.batch_fit import fitted
from strategy_replay.engine.collective_edits import faster_link, other_packs
from strategy_replay.engine.edits import Edit, InputFree, RemoveDelay
from strategy_replay.engine.replays import Replays, replay_graphs, replays
from strategy_replay.engine.simulate import simulate
from strategy_replay.engine.what_if import WhatIf, edited_schedule, predict

Fields = dict[str, Any]

WORKLOADS = ("digits-cnn", "digits-mlp", "embedding", "tiny-gpt")
STRATEGIES = ("mirrored", "central-storage")
NUM_DEVICES = (2, 4, 8)
DELAYS = (("tiny-gpt", 2, 30), ("tiny-gpt", 4, 30), ("digits-cnn", 2, 10), ("digits-cnn", 4, 30))
"""Workload, number of devices, ms: steps 1.4 to 5 times as long as without."""
BATCHES = ("digits-cnn", "tiny-gpt", "synthetic")
THIRD_BATCH = 256
"""Predicted from runs that recorded 64 and 128, and from 64 alone."""
PACK_BYTES = 20_000
WORKER_DELAYS = (("digits-cnn", 30), ("digits-mlp", 30))
"""Workload and ms."""
FREE: Fields = {"inject": []}
LINKS = (("digits-cnn", 20), ("digits-mlp", 20))
"""Workload, and 10^6 bits per second that a worker's link has before it is made twice as fast."""
STEPS = 60
NUM_TURNS, TURN_STEPS = 8, 40
NUM_OPS = 10_000
MAX_WAIT_S = 400
SLEEPY = """
import time
import numpy as np
import tensorflow as tf
from strategy_core.workloads import digits_cnn
build_model = digits_cnn.build_model

def build_dataset(global_batch_size, seed, *, sleep_s=0.0):
    def late(*batch):
        wait = tf.numpy_function(lambda: np.int64(time.sleep(sleep_s) or 0), [], tf.int64)
        with tf.control_dependencies([wait]):
            return tf.nest.map_structure(tf.identity, batch)
    return digits_cnn.build_dataset(global_batch_size, seed).map(late)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one workload, one pair of each kind")
    parser.add_argument(
        "--only",
        choices=("error", "what-if", "delays", "fields", "input", "third-batch", "workers", "time"),
        help="one of the parts; delays, fields, input, third-batch, workers: some what-ifs alone",
    )
    arguments = parser.parse_args()
    if arguments.only in (None, "time"):
        _print_times()
    if arguments.only == "time":
        return
    with tempfile.TemporaryDirectory() as scratch, Launcher() as launcher:
        lab = _Lab(launcher, Path(scratch))
        if arguments.only in (None, "error"):
            _print_errors(lab, WORKLOADS[:1] if arguments.quick else WORKLOADS)
        num_pairs, num_turns = (1, 3) if arguments.quick else (3, NUM_TURNS)
        if arguments.only in (None, "what-if", "delays"):
            _print_delays(lab, num_turns)
        if arguments.only in (None, "what-if", "fields"):
            _print_fields(lab, num_turns)
        if arguments.only in (None, "what-if", "input"):
            _print_input(lab, num_turns)
        if arguments.only in (None, "what-if", "third-batch"):
            for workload in BATCHES:
                _print_third_batch(lab, num_turns, workload)
        if arguments.only in (None, "what-if", "workers"):
            _print_workers(lab, num_pairs, num_turns)


class _Lab:
    """Records runs with every step captured."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self._launcher, self.folder, self._num = launcher, folder, 0

    def run(self, **fields: Any) -> strategy_profiles.Profile:
        self._num += 1
        folder = self.folder / f"run-{self._num}"
        capture = {"every_step": True, "keep_xplane": False}
        spec = RunSpec.model_validate({"global_batch_size": 64, "capture": capture, **fields})
        handle = self._launcher.launch(spec, folder)
        if not handle.wait(MAX_WAIT_S) or handle.status != "finished":
            raise SystemExit(f"a run did not finish: {handle.message}")
        return strategy_profiles.load(folder)


def _print_errors(lab: _Lab, workloads: Sequence[str]) -> None:
    every: list[float] = []
    of_runs: list[float] = []
    for workload in workloads:
        for strategy in STRATEGIES:
            for num in NUM_DEVICES:
                title = f"{workload}, {strategy}, {num} devices"
                spec = {"workload": workload, "strategy": strategy, "devices": f"cpu:{num}"}
                try:
                    known = replays(lab.run(**spec, steps=STEPS), 0)
                except ReplayError as error:
                    print(f"{title}: refused: {error}")
                    continue
                every += [abs(step.error) for step in known.steps]
                of_runs.append(abs(known.replayed_ms / known.measured_ms - 1))
                print(f"{title}: {_error_text(known)}; load {os.getloadavg()[0]:.0f}", flush=True)
    for what, errors in (("steps", every), ("runs, by their median step", of_runs)):
        if errors:
            print(
                f"replay error, {len(errors)} {what}: median {np.median(errors):.1%}, "
                f"95th percentile {np.quantile(errors, 0.95):.1%}"
            )


def _error_text(known: Replays) -> str:
    return (
        f"step {known.measured_ms:.1f} ms, error {known.error:.1%} (p95 {known.error_p95:.1%}), "
        f"unexplained {known.unexplained_ms:+.2f} ms"
    )


def _print_delays(lab: _Lab, num_turns: int) -> None:
    for workload, num, ms in DELAYS:
        title = f"{workload}, {num} devices, delay of {ms} ms removed"
        side = {"workload": workload, "devices": f"cpu:{num}"}
        late: Fields = {"inject": [{"replica": 1, "ms": ms}]}
        _print_turns(title, _turns(lab, num_turns, side, late, FREE, lambda _: RemoveDelay()))


def _print_fields(lab: _Lab, num_turns: int) -> None:
    for workload in BATCHES:
        side = {"workload": workload, "devices": "cpu:2"}
        for before, after in ((64, 128), (128, 64)):
            title = f"{workload}, batch {before} to {after}, 2 devices"
            first, second = ({"global_batch_size": batch} for batch in (before, after))
            to_batch = partial(other_batch, batch=after)
            _print_turns(title, _turns(lab, num_turns, side, first, second, to_batch))
    side = {"workload": WORKLOADS[0], "devices": "cpu:2"}
    for before, after in ((0, PACK_BYTES), (PACK_BYTES, 0)):
        title = f"bytes per pack {before} to {after}, 2 devices"
        first, second = ({"bytes_per_pack": size} for size in (before, after))
        to_packs = partial(other_packs, bytes_per_pack=after)
        _print_turns(title, _turns(lab, num_turns, side, first, second, to_packs))


def _print_input(lab: _Lab, num_turns: int) -> None:
    file = lab.folder / "sleepy_input.py"
    file.write_text(SLEEPY)
    both: Fields = {"workload": str(file), "devices": "cpu:2"}
    late, free = ({"workload_options": {"sleep_s": sleep_s}} for sleep_s in (0.04, 0.0))
    turns = _turns(lab, num_turns, both, late, free, lambda _: InputFree())
    _print_turns("input made free, 2 devices", turns)


def _print_third_batch(lab: _Lab, num_turns: int, workload: str) -> None:
    batches: list[Fields] = [{"global_batch_size": size} for size in (64, 128, THIRD_BATCH)]
    side = {"workload": workload, "devices": "cpu:2"}
    known = _segments(lab, num_turns, side, batches)
    first, second, third = (known[number::3] for number in range(3))
    really_ms = [each.measured_ms for each in third]
    title = f"{workload}, batch 64 to {THIRD_BATCH}, 2 devices"
    edit = other_batch(first[0], THIRD_BATCH)
    from_one = [predict(each, [edit]) for each in first]
    from_two = [
        predict(each, [fitted(edit, each, beside)])
        for each, beside in zip(first, second, strict=True)
    ]
    _print_turns(f"{title}, from one batch", _Turns(from_one, really_ms))
    _print_turns(f"{title}, from two batches", _Turns(from_two, really_ms))


def _print_workers(lab: _Lab, num_pairs: int, num_turns: int) -> None:
    two = {"strategy": "multi-worker-mirrored", "workers": 2, "global_batch_size": 128}
    for workload, ms in WORKER_DELAYS:
        title = f"{workload}, 2 workers, delay of {ms} ms removed"
        side = {**two, "workload": workload}
        late: Fields = {"inject": [{"worker": 1, "replica": 0, "ms": ms}]}
        _print_turns(title, _turns(lab, num_turns, side, late, FREE, lambda _: RemoveDelay()))
    for workload, rate_mbit in LINKS:
        slow, fast = (
            {**two, "workload": workload, "network": {"rate_mbit": rate}}
            for rate in (rate_mbit, 2 * rate_mbit)
        )
        pairs = _pairs(lab, num_pairs, slow, fast, lambda known: faster_link(known, 2.0))
        _print_pairs(f"{workload}, 2 workers, {rate_mbit} to {2 * rate_mbit} Mb/s", pairs)


Pair = tuple[WhatIf, float]
"""A prediction, and the measured length of the step with the change really made, in ms."""


@dataclass(frozen=True, slots=True)
class _Turns:
    """Segments of one run in turns, without a change and with it."""

    predicted: list[WhatIf]
    """Of each segment without the change."""
    really_ms: list[float]
    """The measured step of each segment with it."""

    def off(self) -> list[float]:
        """How far each prediction is off what the segments beside it measured."""
        places = range(len(self.predicted) + len(self.really_ms) - 1)
        pairs = [((turn + 1) // 2, turn // 2) for turn in places]
        return [self.predicted[a].predicted_ms / self.really_ms[b] - 1 for a, b in pairs]

    def alike(self) -> list[float]:
        """By how much segments of one spec differ from the next of that spec."""
        sides = ([prediction.measured_ms for prediction in self.predicted], self.really_ms)
        return [abs(b / a - 1) for side in sides for a, b in itertools.pairwise(side)]


def _turns(
    lab: _Lab,
    num_turns: int,
    both: Fields,
    before: Fields,
    after: Fields,
    change: Callable[[Replays], Edit],
) -> _Turns:
    known = _segments(lab, num_turns, both, (before, after))
    return _Turns(
        [predict(each, [change(each)]) for each in known[::2]],
        [each.measured_ms for each in known[1::2]],
    )


def _segments(lab: _Lab, num_turns: int, both: Fields, sides: Sequence[Fields]) -> list[Replays]:
    """One run: a segment to warm up, then one of each side in turns, which are returned."""
    of_segments = [sides[-1], *(*sides,) * num_turns]
    changes = [
        {"step": number * TURN_STEPS, "changes": side}
        for number, side in enumerate(of_segments)
        if number
    ]
    steps = {"steps": len(of_segments) * TURN_STEPS, "reconfigure": changes}
    run = lab.run(**{**both, **of_segments[0], **steps})
    return [replays(run, segment.segment) for segment in run.segments[1:]]


def _print_turns(title: str, turns: _Turns) -> None:
    off = turns.off()
    low, high = _interval_of_median(off)
    before = statistics.median(prediction.measured_ms for prediction in turns.predicted)
    predicted = statistics.median(prediction.predicted_ms for prediction in turns.predicted)
    inside = sum(
        prediction.low_ms <= really_ms <= prediction.high_ms
        for prediction, really_ms in zip(turns.predicted, turns.really_ms, strict=True)
    )
    print(
        f"{title}: measured {before:.1f} ms, predicted {predicted:.1f}, really "
        f"{statistics.median(turns.really_ms):.1f}: {statistics.median(off):+.1%} "
        f"({low:+.1%} to {high:+.1%}); single ones off by {statistics.median(map(abs, off)):.1%}, "
        f"{inside} of {len(turns.really_ms)} within the interval; segments of one spec differ by "
        f"{statistics.median(turns.alike()):.1%}; load {os.getloadavg()[0]:.0f}",
        flush=True,
    )


def _interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median, by resampling."""
    drawn = np.random.default_rng(0).choice(values, (2_000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    return float(low), float(high)


def _pairs(
    lab: _Lab,
    num_pairs: int,
    before: Fields,
    after: Fields,
    change: Callable[[Replays], Edit],
) -> Iterator[Pair]:
    """Runs before and after a change, in turns."""
    for number in range(num_pairs):
        sides = (before, after) if number % 2 else (after, before)
        runs = [lab.run(**{"steps": STEPS, **side}) for side in sides]
        first, second = runs if number % 2 else reversed(runs)
        known = replays(first, 0)
        yield predict(known, [change(known)]), replays(second, 0).measured_ms


def _print_pairs(title: str, pairs: Iterator[Pair]) -> None:
    off, inside = [], 0
    for prediction, really_ms in pairs:
        off.append(prediction.predicted_ms / really_ms - 1)
        inside += prediction.low_ms <= really_ms <= prediction.high_ms
        print(
            f"{title}: measured {prediction.measured_ms:.1f} ms, "
            f"predicted {prediction.predicted_ms:.1f} ({prediction.low_ms:.1f} to "
            f"{prediction.high_ms:.1f}), really {really_ms:.1f}: "
            f"{off[-1]:+.1%}; replay error {prediction.replay_error:.1%}; "
            f"load {os.getloadavg()[0]:.0f}",
            flush=True,
        )
    median = statistics.median(map(abs, off))
    print(f"{title}: off by {median:.1%} (median of {len(off)}), {inside} within the interval")


def _print_times() -> None:
    """Processor time: the machine may be busy."""
    graphs = [_large_step(number) for number in range(4)]
    step = replay_graphs(graphs, 2.0)[0]
    _print_time("replay of", lambda: simulate(step.graph, step.work_ns, step.gap_ns, step.cores))
    _print_time("what-if on", lambda: edited_schedule(step, [RemoveDelay()]))


def _print_time(title: str, call: Callable[[], object]) -> None:
    took = []
    for _ in range(15):
        began = time.process_time()
        call()
        took.append((time.process_time() - began) * 1e3)
    record_figure(title, took, "ms CPU")
    print(
        f"{title} one step of {NUM_OPS:,} ops, 4 replicas on 2 cores: "
        f"{statistics.median(took):.0f} ms ({min(took):.0f} to {max(took):.0f})"
    )


def _large_step(number: int) -> StepGraph:
    """Four replicas of 2,500 ops each, as a chain with side branches, as in a large model."""
    random = np.random.default_rng(number)
    size = NUM_OPS
    waits_for = [
        tuple(sorted({at - 4, at - 4 * int(random.integers(1, 50))} & set(range(at))))
        for at in range(size)
    ]
    nodes = Nodes(
        start_ns=np.zeros(size + 1),
        end_ns=np.zeros(size + 1),
        op=[*(f"Op{at % 40}" for at in range(size)), "end"],
        name=[*(f"op{at}" for at in range(size)), "end"],
        category=[*("delay" if at == 5_001 else "compute" for at in range(size)), "host"],
        replica=np.array([*(at % 4 for at in range(size)), -1]),
        device=[*(f"CPU:{at % 4}" for at in range(size)), ""],
        thread=np.arange(size + 1) % 8,
        demand=np.array([*(0.0 if at == 5_001 else 1.0 for at in range(size)), 0.0]),
        launch=np.array([*(INLINE if at % 3 else WAKE for at in range(size)), END_GAP]),
        bytes=np.full(size + 1, np.nan),
    )
    lengths = np.append(random.exponential(2e4, size), 0.0)
    gaps = np.append(random.exponential(1e3, size), 0.0)
    last = tuple(range(size - 4, size))
    blank = StepGraph(0, number, 0.0, nodes, (*waits_for, last))
    ran = simulate(blank, lengths, gaps, 2.0)
    nodes.start_ns[:], nodes.end_ns[:] = ran.start_ns, ran.end_ns
    return StepGraph(0, number, ran.length_ns, nodes, (*waits_for, last))


if __name__ == "__main__":
    main()
