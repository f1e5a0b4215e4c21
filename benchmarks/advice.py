"""`python -m benchmarks.advice`: which planted causes the advice finds, and what it invents.

    python -m benchmarks.advice [--quick] [--only RULE] [--healthy 40] [--burners 3] [--keep FOLDER]

1. Planted: two or three real runs for each rule, made by a RunSpec of the lab or by a program that
   was not written for it (`tests.planted.program`). Found: its key is among the run's findings.
2. Gains: if a replay predicts the step without a planted cause, the same program without the cause
   is run at once, and the prediction is compared with it (`benchmarks.measuring.predicted_gains`).
3. Healthy: runs of the built-in workloads in which nothing is planted; with `--burners`, beside
   that many other programs, which are then there to be named.

Some rules name a cause that is either there or not (`CAUSES`); their findings in runs where it was
not planted are invented, unless the planted cause entails them (`ENTAILED`). The other rules report
a measured share above a threshold, such as steps whose Python takes long: on small models these are
true of healthy runs as well, and are counted apart.

A cause counts as found if its rule reports it, or the one that reports a larger share of it
(`LARGER`).

    recall = planted causes found / planted
    precision = findings of CAUSES that were planted or entailed / findings of CAUSES

Not planted: `idle`, `memory-limit`, `not-captured`, `argument-copy`, `busy-thread`,
`growing-steps`; and `other-algorithm`, because on virtual CPUs,
which share memory, another one costs nothing. The programs of three rules fail: these say why.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import strategy_profiles
from benchmarks.busy_machine import burning
from benchmarks.measuring.predicted_gains import Checked, finding_of, measured_ms, report
from benchmarks.measuring.record import record_figure
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.analysis.findings import gather_facts
from strategy_profiles.predictors import findings_with_gains
from strategy_profiles.spec.run_spec import RunSpec

MAX_WAIT_S = 300
STEPS = 150
CAUSES = frozenset(
    {
        "busy-machine", "debugging-ops", "dense-gradient", "detour", "eager-step",
        "float16-on-cpu", "float64", "host-round-trip", "implicit-copy", "input-bound",
        "inter-op-threads", "loss-lost", "many-small-collectives", "other-algorithm",
        "partial-batch", "python-op",
        "retracing", "shared-collective-key", "shared-cores", "straggler", "variable-off-device",
        "variables-in-first-step", "xla-across-devices",
    }
)  # fmt: skip
ENTAILED = {
    "detour": {"straggler"},
    "retracing": {"partial-batch"},
    "eager-step": {"straggler", "host-round-trip"},
    "inter-op-threads": {"straggler"},
    "python-op": {"straggler"},
    "small-collective": {"straggler"},
}
"""A replica whose op runs elsewhere is late; batches of changing length are partial; replicas of an
eager step, or on one thread, run in turn, and the last one is late; Python in two replicas takes
turns for the GIL; over a long link one worker begins its next step a round trip later than the
other."""
LARGER = {"short-steps": "dispatch"}
"""On a slow machine, Python takes 30 % of a step of 3 ms, and then `dispatch` says so."""
HALF: dict[str, Any] = {"capture": {"overhead_budget": 0.5}, "steps": 400}
LATE_3: dict[str, Any] = {"devices": "cpu:4", "inject": [{"replica": 3, "ms": 15.0}]}
SLOW_LINK: dict[str, Any] = {
    "strategy": "multi-worker-mirrored",
    "workers": 2,
    "devices": "cpu:1",
    "workload": "synthetic",
    "network": {"rate_mbit": 200.0},
    "steps": 40,
}
FAST_LINK: dict[str, Any] = {"network.rate_mbit": None}
LONG_LINK: dict[str, Any] = SLOW_LINK | {"workload": "digits-mlp", "network": {"delay_ms": 10.0}}
SHORT_LINK: dict[str, Any] = {"network.delay_ms": None, "network.interfaces": True}


@dataclass(frozen=True, slots=True)
class Case:
    """A run, and the rule whose cause was planted in it."""

    planted: str | None
    title: str
    fields: dict[str, Any] | None = None
    """Of a RunSpec; None: a program of `tests.planted` with that title."""
    num_burners: int = 0
    healthy: str | dict[str, Any] | None = None
    """The same without the cause: a program of `tests.planted`, or other fields of the RunSpec.
    None: the change that the rule proposes."""
    fails: bool = False
    """Whether the program fails of the cause."""


def _spec(
    planted: str | None,
    title: str,
    num_burners: int = 0,
    healthy: dict[str, Any] | None = None,
    **fields: Any,
) -> Case:
    fields = {"devices": "cpu:2", "steps": STEPS, **fields}
    return Case(planted, title, fields, num_burners, healthy)


PLANTED = (
    _spec("straggler", "a delay in one of 2", inject=[{"replica": 1, "ms": 30.0}]),
    _spec("straggler", "a delay in one of 4", **LATE_3),
    Case("straggler", "late-replica", healthy="healthy"),
    Case("straggler", "late-replica-0", healthy="healthy"),
    _spec("input-bound", "slow reads", workload="synthetic", global_batch_size=32, steps=40,
          workload_options={"read_ms": 400.0}, healthy={"workload_options": {}}),
    Case("input-bound", "generator", healthy="healthy-fit"),
    Case("input-bound", "generator-prefetched", healthy="healthy-fit"),
    Case("retracing", "retracing"),
    Case("retracing", "retracing-shapes"),
    Case("host-round-trip", "host-round-trip"),
    Case("host-round-trip", "host-pause"),
    Case("detour", "pinned-op", healthy="healthy-light"),
    Case("detour", "pinned-op-back", healthy="healthy-light"),
    Case("python-op", "python-op", healthy="healthy-light"),
    Case("python-op", "python-op-asleep", healthy="healthy-light"),
    Case("eager-step", "eager"),
    Case("eager-step", "eager-computing"),
    Case("partial-batch", "partial-batch"),
    Case("partial-batch", "partial-batch-computing"),
    Case("dense-gradient", "dense-gradient"),
    Case("dense-gradient", "dense-gradient-sum"),
    Case("float64", "float64", healthy="healthy"),
    Case("float64", "float64-fit"),
    Case("float16-on-cpu", "float16", healthy="healthy"),
    Case("float16-on-cpu", "float16-fit"),
    Case("implicit-copy", "captured-table"),
    Case("implicit-copy", "captured-table-of-another"),
    Case("inter-op-threads", "one-thread"),
    Case("inter-op-threads", "one-thread-fit"),
    Case("small-ops", "loop-of-small-ops"),
    Case("small-ops", "loop-of-products"),
    Case("debugging-ops", "printing", healthy="healthy-light"),
    Case("debugging-ops", "checking", healthy="healthy-light"),
    Case("debugging-ops", "checking-each-op"),
    Case("variable-off-device", "variable-elsewhere"),
    Case("variable-off-device", "large-variable-elsewhere"),
    Case("variable-off-device", "variable-of-another"),
    _spec("many-small-collectives", "no packs", bytes_per_pack=1),
    _spec("many-small-collectives", "no packs of a large model", workload="tiny-gpt",
          bytes_per_pack=1, steps=40),
    _spec("loss-lost", "a learning rate of 1e30", learning_rate=1e30),
    _spec("loss-lost", "a learning rate of 1e30, tiny-gpt", learning_rate=1e30,
          workload="tiny-gpt", steps=40),
    _spec("shared-cores", "4 replicas", devices="cpu:4"),
    _spec("shared-cores", "8 replicas", devices="cpu:8"),
    _spec("tiny-batch", "4 examples a replica", global_batch_size=8),
    _spec("tiny-batch", "8 examples a replica", workload="digits-mlp", global_batch_size=16),
    _spec("tracing", "5 steps", steps=5),
    _spec("tracing", "5 steps of tiny-gpt", steps=5, workload="tiny-gpt"),
    _spec("costly-capture", "half of the time", **HALF),
    _spec("costly-capture", "half of the time, short steps", workload="digits-mlp", **HALF),
    _spec("communication-exposed", "a slow link", healthy=FAST_LINK, **SLOW_LINK),
    _spec("communication-exposed", "a slow link, digits-cnn", healthy=FAST_LINK, **SLOW_LINK | {
        "workload": "digits-cnn", "network": {"rate_mbit": 20}}),
    _spec("short-steps", "steps of 3 ms", workload="digits-mlp"),
    _spec("short-steps", "steps of 3 ms, central storage", workload="digits-mlp",
          strategy="central-storage"),
    _spec("dispatch", "steps of 2 ms", workload="digits-mlp", devices="cpu:1"),
    _spec("dispatch", "steps of a tiny model", workload="digits-mlp", devices="cpu:1", loop="fit"),
    _spec("small-collective", "a long link", healthy=SHORT_LINK, **LONG_LINK),
    _spec("small-collective", "a long link, fit", healthy=SHORT_LINK, loop="fit", **LONG_LINK),
    Case("between-steps", "between-steps"),
    Case("callback", "slow-callback"),
    Case("callback", "saving-each-seventh"),
    Case("callback", "saving-each-epoch"),
    Case("validation", "validated-each-epoch"),
    Case("unsteady", "unsteady"),
    Case("unsteady", "unsteady-branch"),
    Case("shared-collective-key", "two-strategies", fails=True),
    Case("shared-collective-key", "shapes-differ", fails=True),
    Case("xla-across-devices", "compiled-step", fails=True),
    Case("xla-across-devices", "compiled-fit", fails=True),
    Case("variables-in-first-step", "optimizer-not-built", fails=True),
    Case("variables-in-first-step", "model-not-built", fails=True),
    _spec("busy-machine", "3 other programs", steps=600, num_burners=3),
    _spec("busy-machine", "6 other programs", steps=600, num_burners=6),
)  # fmt: skip


def healthy(number: int, num_burners: int = 0) -> Iterator[Case]:
    """Cases in which nothing is planted, of all workloads but resnet50, which takes minutes."""
    workloads = ("digits-cnn", "digits-mlp", "embedding", "synthetic", "tiny-gpt")
    kinds = itertools.product(("custom", "fit"), ("mirrored", "central-storage"), workloads)
    made = 0
    for loop, strategy, workload in itertools.cycle(kinds):
        if loop == "fit" and strategy == "central-storage":
            continue
        if made == number:
            return
        made += 1
        fields: dict[str, Any] = {"workload": workload, "strategy": strategy, "loop": loop}
        steps = 40 if workload == "tiny-gpt" else STEPS
        title = f"{workload}, {strategy}, {loop}"
        yield _spec(None, title, num_burners, **fields, steps=steps, seed=made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one planted run, one healthy one")
    parser.add_argument(
        "--only", action="append", metavar="RULE", help="plant for this rule alone; repeatable"
    )
    parser.add_argument("--healthy", type=int, default=40)
    parser.add_argument("--burners", type=int, default=0, help="programs beside healthy runs")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the runs there")
    options = parser.parse_args()
    planted = [case for case in PLANTED if not options.only or case.planted in options.only]
    num_healthy = options.healthy
    if options.quick:
        planted, num_healthy = planted[:1], 1
    keys_of_cases: list[tuple[Case, list[str]]] = []
    checked: list[Checked] = []
    with _folder(options.keep) as folder, Launcher() as launcher:
        for at, case in enumerate([*planted, *healthy(num_healthy, options.burners)]):
            run = folder / str(at)
            _record(launcher, case, run)
            profile = strategy_profiles.load(run)
            facts = gather_facts(profile, profile.segments[0])
            reported = findings_with_gains(profile, facts)
            keys = [item.key for item in reported]
            keys_of_cases.append((case, keys))
            mark = "" if case.planted is None or _is_found(case.planted, keys) else "  MISSED"
            print(f"{case.planted or 'healthy'}: {case.title}: {', '.join(keys)}{mark}", flush=True)
            item = finding_of(case.planted, reported) if case.planted else None
            if item is not None:
                checked.append(_check(launcher, case, item, folder / f"{at}-healthy"))
                print(checked[-1], flush=True)
    _report(keys_of_cases)
    report(checked)


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    with nullcontext(str(kept)) if kept else tempfile.TemporaryDirectory() as folder:
        Path(folder).mkdir(exist_ok=True)
        yield Path(folder)


def _check(launcher: Launcher, case: Case, finding: Finding, run: Path) -> Checked:
    """Compare the gain of a planted cause with the same run without it."""
    assert case.planted is not None
    healthy_ms = usual_ms = None
    without = _without(case, finding) if finding.gain is not None else None
    if without is not None:
        _record(launcher, without, run)
        healthy_ms, usual_ms = measured_ms(strategy_profiles.load(run))
    return Checked(
        case.planted, case.title, finding.gain, finding.why_no_gain, healthy_ms, usual_ms
    )


def _without(case: Case, finding: Finding) -> Case | None:
    """Return the case without its cause; None if there is none."""
    if isinstance(case.healthy, str):
        return Case(None, case.healthy)
    changes = case.healthy if case.healthy is not None else finding.edits
    if case.fields is None or not changes:
        return None
    spec = RunSpec.model_validate(case.fields).with_changes(changes)
    return Case(None, case.title, spec.to_json(), case.num_burners)


def _record(launcher: Launcher, case: Case, folder: Path) -> None:
    if case.fields is None:
        command = [sys.executable, "-m", "tests.planted.program", case.title, str(folder.resolve())]
        root = Path(__file__).parents[1]
        made = subprocess.run(
            command, timeout=MAX_WAIT_S, capture_output=True, text=True, cwd=root, check=False
        )
        if bool(made.returncode) != case.fails:
            how = "failed" if made.returncode else "did not fail"
            raise SystemExit(f"The program {case.title!r} {how}: {made.stderr[-500:]}")
        return
    with burning(case.num_burners):
        handle = launcher.launch(RunSpec.model_validate(case.fields), folder)
        if not handle.wait(MAX_WAIT_S) or handle.status != "finished":
            raise SystemExit(f"The run {case.title!r} did not finish: {handle.message}")


def _is_found(rule: str, keys: Sequence[str]) -> bool:
    return rule in keys or LARGER.get(rule) in keys


def _report(keys_of_cases: Sequence[tuple[Case, list[str]]]) -> None:
    planted = [(case.planted, keys) for case, keys in keys_of_cases if case.planted]
    num_found = sum(_is_found(rule, keys) for rule, keys in planted)
    print(f"\nrecall: {num_found} of {len(planted)} planted causes found", end="")
    record_figure("recall", num_found, f"of {len(planted)}")
    missed = Counter(rule for rule, keys in planted if not _is_found(rule, keys))
    print("; missed: " + ", ".join(f"{rule} {n}" for rule, n in missed.items()) if missed else "")
    right, invented = 0, Counter[str]()
    for case, keys in keys_of_cases:
        allowed = _allowed(case)
        causes = [key for key in keys if key in CAUSES]
        right += sum(key in allowed for key in causes)
        invented += Counter(key for key in causes if key not in allowed)
    total = right + invented.total()
    print(f"precision: {right} of {total} named causes were planted or entailed", end="")
    print("; others: " + ", ".join(f"{key} {n}" for key, n in invented.items()) if invented else "")
    record_figure("precision", invented.total(), "findings")
    without = [keys for case, keys in keys_of_cases if case.planted is None]
    blamed = sum(
        bool(CAUSES.intersection(keys) - _allowed(case))
        for case, keys in keys_of_cases
        if not case.planted
    )
    num_burners = max((c.num_burners for c, _ in keys_of_cases if not c.planted), default=0)
    record_figure(f"healthy, {num_burners} burners", blamed, "runs")
    print(f"healthy: {blamed} of {len(without)} runs with a cause that was not there; ", end="")
    print("measured shares: ", end="")
    shares = Counter(key for keys in without for key in keys if key not in CAUSES)
    print(", ".join(f"{key} {n}" for key, n in shares.most_common()) or "none")


def _allowed(case: Case) -> set[str | None]:
    """Return the causes that are there: the planted one, and what it or the spec entails."""
    allowed = {case.planted, *ENTAILED.get(case.planted or "", ())}
    if "cpu:4" in str(case.fields) or "cpu:8" in str(case.fields):
        allowed.add("shared-cores")  # on a machine of fewer cores
    if "central-storage" in str(case.fields):
        allowed.add("many-small-collectives")  # this strategy packs nothing
    if case.num_burners:
        allowed.add("busy-machine")
    return allowed


if __name__ == "__main__":
    main()
