"""`python -m benchmarks.scaling`: how far predictions of 4 and 8 replicas are off.

Each worker process has a fixed share of a CPU: a control group with a quota and, against other
programs, a high weight. So 8 workers fit on two cores, and each further worker brings its own
share. With `rate_mbit`, their links are emulated. For each case, 1, 2, 4 and 8 workers train in
turn, and the runs of 1 and 2 predict those of 4 and 8 (also 2 alone, and 2 and 4). With several
rounds, the prediction from a round is compared with the runs of the other rounds alone: a machine
that was slow during a round then counts against the interval, as it does for a user.

It needs control groups that it may write to (root), and about 3 minutes per case and round.

`--only shared` predicts 4 and 8 virtual CPUs of one process, which share its cores, from 2.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import strategy_profiles
from benchmarks.compare_noise import share
from strategy_core.launcher.launcher import Launcher
from strategy_core.processes.import_path import module_command
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.spec.run_spec import RunSpec

GROUPS = Path("/sys/fs/cgroup")
NUM_WORKERS = (1, 2, 4, 8)
FROM = ((1, 2), (2,), (2, 4))
SHARED = (("digits-cnn", 64), ("digits-mlp", 64), ("tiny-gpt", 8))
"""Workloads, and their batch per replica."""
STEPS = 60
SHARE = 0.1
"""Of a CPU, for each worker: all together then need less than one."""
PERIOD_US = 10_000
FREE_STEPS = 4
"""Steps before the limit: tracing would take a minute with it."""
MAX_WAIT_S = 400
WORKLOAD = """
import json
import os
import tensorflow as tf
from benchmarks.scaling import limit_this_process
from strategy_core.workloads import synthetic

def build_model():
    return synthetic.build_model(parameters={parameters}, flops_per_example={flops})

def _limited():
    task = json.loads(os.environ.get("TF_CONFIG") or "{{}}").get("task", {{}}).get("index", 0)
    limit_this_process(task)
    return iter(())

def build_dataset(global_batch_size, seed, *, first_example=0):
    batches = synthetic.build_dataset(global_batch_size, seed, first_example=first_example)
    none = tf.data.Dataset.from_generator(_limited, output_signature=batches.element_spec)
    return batches.take({free}).concatenate(none).concatenate(batches.skip({free}))

build_optimizer = synthetic.build_optimizer
loss_fn = synthetic.loss_fn
"""


Runs = dict[int, strategy_profiles.Profile]
"""Runs of one round, by their number of workers or devices."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is trained, over which links."""

    title: str
    parameters: int
    batch_per_replica: int
    rate_mbit: float | None = None


CASES = (
    Case("4 MB of gradients", 1_000_000, 128),
    Case("4 MB, 200 Mbit/s", 1_000_000, 128, 200),
    Case("1 MB of gradients, more compute", 250_000, 1_024),
    Case("10 MB, 500 Mbit/s", 2_500_000, 64, 500),
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction beside the run that it predicts."""

    sources: tuple[int, ...]
    num_replicas: int
    predicted_ms: float
    low_ms: float
    high_ms: float
    really_ms: float

    @property
    def off(self) -> float:
        return self.predicted_ms / self.really_ms - 1

    @property
    def is_inside(self) -> bool:
        return self.low_ms <= self.really_ms <= self.high_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the first case alone")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of each case")
    parser.add_argument("--case", type=int, metavar="N", help="one case, from 1")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the runs there")
    parser.add_argument("--only", choices=("workers", "shared"), default="workers")
    options = parser.parse_args()
    cases: Sequence[Case] = CASES[:1] if options.quick else CASES
    if options.case:
        cases = CASES[options.case - 1 : options.case]
    recorded: dict[str, list[Runs]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch, Launcher() as launcher:
        for number in range(options.rounds):
            if options.only == "shared":
                folder = (options.keep or Path(scratch)) / f"shared-{number}"
                for title, runs in _shared(launcher, folder):
                    recorded[title].append(runs)
                continue
            for case in cases:
                folder = (options.keep or Path(scratch)) / f"{_name(case)}-{number}"
                recorded[case.title].append(_record(launcher, folder, case))
        sources = [(2,)] if options.only == "shared" else FROM
        every = [
            prediction
            for title, rounds in recorded.items()
            for prediction in _predictions(title, rounds, sources)
        ]
    _remove_groups()
    _print_summary(every)


def limit_this_process(worker: int) -> None:
    """Move this process into a control group with its share of a CPU (version 1 or 2)."""
    is_v2, top = _top_group()
    group = top / str(worker)
    group.mkdir(parents=True, exist_ok=True)
    quota = round(SHARE * PERIOD_US)
    if is_v2:
        (top / "cgroup.subtree_control").write_text("+cpu")
        (top / "cpu.weight").write_text("10000")
        (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
    else:
        (top / "cpu.shares").write_text("100000")
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _top_group() -> tuple[bool, Path]:
    """Return whether control groups are of version 2, and the folder of this benchmark's own."""
    is_v2 = (GROUPS / "cgroup.controllers").exists()
    return is_v2, GROUPS / "strategy-lab" if is_v2 else GROUPS / "cpu" / "strategy-lab"


def _remove_groups() -> None:
    _, top = _top_group()
    for group in [*top.glob("[0-9]*"), top]:
        with contextlib.suppress(OSError):  # there is none, or a process is still ending
            group.rmdir()


def _name(case: Case) -> str:
    rate = f"-{case.rate_mbit:g}mbit" if case.rate_mbit else ""
    return f"{case.parameters}-{case.batch_per_replica}{rate}"


def _shared(launcher: Launcher, folder: Path) -> Iterator[tuple[str, Runs]]:
    """Record virtual CPUs of one process."""
    for workload, batch in SHARED:
        runs = {}
        for num in NUM_WORKERS[1:]:
            fields = {
                "devices": f"cpu:{num}",
                "workload": workload,
                "global_batch_size": batch * num,
                "steps": STEPS,
                "capture": {"every_step": True, "keep_xplane": False},
            }
            runs[num] = _run(launcher, fields, folder / f"{workload}-{num}")
        yield f"{workload}, shared cores", runs


def _run(launcher: Launcher, fields: dict[str, Any], folder: Path) -> strategy_profiles.Profile:
    handle = launcher.launch(RunSpec.model_validate(fields), folder)
    if not handle.wait(MAX_WAIT_S) or handle.status != "finished":
        raise SystemExit(f"a run did not finish: {handle.message}")
    return strategy_profiles.load(folder)


def _record(launcher: Launcher, folder: Path, case: Case) -> Runs:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "limited.py"
    flops = 6 * case.parameters
    file.write_text(WORKLOAD.format(parameters=case.parameters, flops=flops, free=FREE_STEPS))
    medians = {}
    for num in NUM_WORKERS:
        fields = {
            "strategy": "multi-worker-mirrored",
            "workers": num,
            "workload": str(file),
            "global_batch_size": case.batch_per_replica * num,
            "steps": STEPS,
            "network": {"rate_mbit": case.rate_mbit} if num > 1 else {},
        }
        medians[num] = _run(launcher, fields, folder / str(num))
    return medians


def _predictions(
    title: str, rounds: Sequence[Runs], every_sources: Sequence[tuple[int, ...]]
) -> Iterator[Prediction]:
    """Predict from each round, and compare with the other rounds; of one round with its own."""
    really = [
        {num: step_times(run, 0).median_ms or math.nan for num, run in runs.items()}
        for runs in rounds
    ]
    for of_round in really:
        times = ", ".join(f"{num}: {ms:.0f} ms" for num, ms in of_round.items())
        print(f"{title}; really {times}; load {os.getloadavg()[0]:.0f}", flush=True)
    for number, runs in enumerate(rounds):
        held_out = [each for at, each in enumerate(really) if at != number] or really
        for sources in every_sources:
            wanted = [num for num in NUM_WORKERS if num > max(sources)]
            for step in predicted([runs[num].path for num in sources], wanted):
                for other in held_out:
                    yield _compared(sources, step, other[step["num_replicas"]])


def predicted(runs: Sequence[Path], wanted: Sequence[int]) -> list[dict[str, Any]]:
    """Return the steps that `strategy-lab predict` predicts from these runs."""
    numbers = ",".join(map(str, wanted))
    command = [*module_command("strategy_core"), "predict", *map(str, runs), "--json"]
    done = subprocess.run([*command, "--replicas", numbers], stdout=subprocess.PIPE, check=True)
    return [step for step in json.loads(done.stdout)["steps"] if step["basis"] != "measured"]


def _compared(sources: tuple[int, ...], step: dict[str, Any], really_ms: float) -> Prediction:
    num = step["num_replicas"]
    prediction = Prediction(
        sources, num, step["step_ms"], step["low_ms"], step["high_ms"], really_ms
    )
    print(
        f"  from {' and '.join(map(str, sources))} to {num}: "
        f"{prediction.predicted_ms:.0f} ms ({prediction.low_ms:.0f} to {prediction.high_ms:.0f}), "
        f"{prediction.off:+.1%}{'' if prediction.is_inside else ', outside the interval'}",
        flush=True,
    )
    return prediction


def _print_summary(every: Sequence[Prediction]) -> None:
    for sources in FROM:
        chosen = [item for item in every if item.sources == sources]
        off = [abs(item.off) for item in chosen]
        inside = sum(item.is_inside for item in chosen)
        if off:
            print(
                f"from {' and '.join(map(str, sources))}: {len(off)} predictions off by "
                f"{statistics.median(off):.1%} (median), {max(off):.1%} (worst); "
                f"within their interval: {share(inside, len(chosen)).strip()}, meant: 90 %"
            )


if __name__ == "__main__":
    main()
