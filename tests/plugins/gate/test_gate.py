"""Runs against an accepted baseline: what fails, what passes, what the gate says it cannot tell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_gate.baseline import (
    CheckedRun,
    GatedRun,
    accept,
    read_baseline,
    read_run,
    save,
)
from strategy_gate.checks import exact_checks
from strategy_gate.exact import exact_facts
from strategy_gate.formats import bencher, github_action_benchmark, workflow_commands
from strategy_gate.markdown import markdown
from strategy_gate.report import GateReport, gate
from strategy_gate.text import accept_command, head, open_questions
from strategy_gate.time_checks import time_checks
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.machine import Machine
from strategy_profiles.analysis.compare.run_comparison import compare_sets
from strategy_profiles.analysis.compare.run_time import RunTime
from strategy_profiles.errors import LabError
from strategy_profiles.run.event_parts import Gpu
from tests.plugins.leaves import REPOSITORY
from tests.replaced import replace
from tests.synthetic import HOSTILE, write_run

IMPORTED = REPOSITORY / "tests" / "data" / "imported" / "tpu_psum"
HERE = Machine("here", 2, "2.21.0")


def checked_run(run: Path, **options: Any) -> CheckedRun:
    return read_run(strategy_profiles.load(write_run(run, **{"steps": 60, **options})))


def timed(position: int, step_ms: float, *, machine: Machine = HERE, **parts: float) -> GatedRun:
    time = RunTime(
        median_ms=step_ms,
        p10_ms=step_ms,
        p90_ms=step_ms,
        num_steps=60,
        num_warm_up=0,
        num_captured=0,
        num_independent=60.0,
        log_error=0.001,
    )
    named = {name.replace("_", " "): ms for name, ms in parts.items()}
    return GatedRun(f"run-{position}", machine, position, time, named)


def side(first: int, step_ms: float, num: int, noise: float = 0.004, **parts: float) -> Any:
    """Every other run from `first` on, whose times scatter by `noise`."""
    rng = np.random.default_rng(first)
    factors = np.exp(rng.normal(0, noise, num))
    return [
        timed(first + 2 * i, step_ms * f, **{k: v * f for k, v in parts.items()})
        for i, f in enumerate(factors)
    ]


# Exact


def test_the_labs_own_gather_of_timestamps_is_no_collective_of_the_program(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=60)
    before = read_run(strategy_profiles.load(run)).run.parts
    assert "all-reduce of 2, wait" in before
    for file in run.rglob("collectives*.parquet"):
        table = pq.read_table(file)
        op = table.schema.field("op")
        named = pa.array(["lab-marks"] * table.num_rows).cast(op.type)
        pq.write_table(table.set_column(table.schema.get_field_index("op"), op, named), file)
    after = read_run(strategy_profiles.load(run)).run.parts
    assert before.keys() - after.keys() == {"all-reduce of 2, wait", "all-reduce of 2, transfer"}
    assert after.keys() <= before.keys()
    profile = strategy_profiles.load(run)
    assert exact_facts(profile, profile.segments[0]).facts["collectives"] == {}


def test_a_run_of_the_same_program_is_within(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    checks = exact_checks(baseline, [checked_run(tmp_path / "b", seed=3, step_ms=90.0)])
    assert {check.outcome for check in checks} == {"within"}
    names = {f"{check.group}: {check.name}" for check in checks}
    assert names >= {
        "replicas: number of replicas",
        "collectives: all-reduce of 4, calls per step",
        "collectives: all-reduce of 4, bytes per step",
        "retraces: steps that trace again",
        "placement: ops on CPU:0",
        "memory: variables on CPU:3, bytes",
    }


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({"replicas": 2}, "replicas: number of replicas"),
        ({"collective_bytes": (2_097_152,) * 3}, "collectives: all-reduce of 4, calls per step"),
        ({"collective_bytes": (2_097_152, 300_000)}, "memory: variables on CPU:0, bytes"),
        (
            {"retraced": [{"step": 9, "function": "f", "num_traces": 1, "argument": None}]},
            "retraces: steps that trace again",
        ),
        ({"ops_per_step": 25}, "placement: ops on CPU:0"),
        (
            {"causes": [{"kind": "detour", "name": "Sum", "replica": 1, "device": "/CPU:0"}]},
            "detours: Sum of replica 1 on /CPU:0",
        ),
    ],
)
def test_an_exact_check_fails_by_one_run(
    tmp_path: Path, change: dict[str, Any], fails: str
) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    checks = exact_checks(baseline, [checked_run(tmp_path / "b", **change)])
    assert fails in {f"{c.group}: {c.name}" for c in checks if c.outcome == "beyond"}


def test_less_traffic_passes_and_is_called_better(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    report = gate(
        baseline, [checked_run(tmp_path / "b", collective_bytes=(2_000_000,))], only="exact"
    )
    assert (report.outcome, report.is_better) == ("within", True)


def test_a_fact_in_which_accepted_runs_differ_is_not_checked(tmp_path: Path) -> None:
    first, second = checked_run(tmp_path / "a"), checked_run(tmp_path / "b", ops_per_step=25)
    baseline = accept([first, second])
    assert "placement: ops on CPU:0" in baseline.varies
    report = gate(baseline, [checked_run(tmp_path / "c", ops_per_step=30)], only="exact")
    assert report.outcome == "within"
    assert any("ops on CPU:0" in note for note in report.notes)


def test_a_run_that_lacks_what_was_accepted_is_no_pass(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    report = gate(baseline, [checked_run(tmp_path / "b", windows=0)], only="exact")
    assert report.outcome == "undecided"
    assert any("captured" in text for text in open_questions(report))


def test_a_check_that_is_not_known_is_not_counted_as_beyond(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    report = gate(baseline, [checked_run(tmp_path / "b", windows=0, replicas=2)], only="exact")
    num = {kind: sum(c.outcome == kind for c in report.exact) for kind in ("beyond", "unknown")}
    assert min(num.values()) > 0
    assert head(report).startswith(f"Beyond the baseline: {num['beyond']} of ")


def test_a_fact_that_no_accepted_run_knows_is_named_and_not_within(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    name = "all-reduce of 4, bytes per step"
    exact = baseline.exact | {"collectives": baseline.exact["collectives"] | {name: None}}
    report = gate(
        msgspec.structs.replace(baseline, exact=exact), [checked_run(tmp_path / "b")], only="exact"
    )
    assert name not in {check.name for check in report.exact}
    assert f"Not checked, as the accepted runs do not know it: collectives: {name}." in report.notes


def test_a_number_that_an_imported_run_lacks_is_unknown(tmp_path: Path) -> None:
    imported = read_run(strategy_profiles.load(IMPORTED))
    assert {"memory", "retraces", "detours"} <= imported.exact.missing.keys()
    assert not any("variables" in name for name in imported.exact.facts["placement"])
    own = accept([imported])
    assert own.is_imported
    recorded = checked_run(tmp_path / "recorded")
    with pytest.raises(LabError, match="Run tpu_psum was imported, and the baseline was recorded"):
        gate(accept([recorded]), [imported])
    with pytest.raises(LabError, match="The baseline was imported, and run recorded was recorded"):
        gate(own, [recorded])
    with pytest.raises(LabError, match="imported"):
        accept([imported, recorded])


# Times


def outcome(a: Any, b: Any, **options: Any) -> str:
    return time_checks(a, b, **options).step.outcome


def test_runs_in_turns_decide_about_the_step() -> None:
    assert outcome(side(0, 20.0, 6), side(1, 20.0, 6)) == "within"
    assert outcome(side(0, 20.0, 6), side(1, 21.0, 6)) == "beyond"
    assert outcome(side(0, 20.0, 6), side(1, 18.0, 6)) == "better"


def test_a_certain_growth_that_does_not_matter_passes() -> None:
    slower = side(1, 20.3, 6, noise=0.0002)
    assert time_checks(side(0, 20.0, 6, noise=0.0002), slower).step.low > 0.01  # type: ignore[operator]
    assert outcome(side(0, 20.0, 6, noise=0.0002), slower) == "within"
    assert outcome(side(0, 20.0, 6, noise=0.0002), slower, least=0.01) == "beyond"


def test_runs_that_differ_too_much_say_how_many_it_takes() -> None:
    one = time_checks([timed(0, 20.0)], [timed(1, 30.0)]).step
    assert (one.outcome, one.low) == ("undecided", None)
    assert one.runs_needed is None, "how much runs differ is not known"
    noisy = time_checks(side(0, 20.0, 4, noise=0.05), side(1, 20.0, 4, noise=0.05)).step
    assert noisy.outcome == "undecided"
    assert noisy.runs_needed is not None
    assert noisy.runs_needed > 4


def test_runs_of_another_time_or_machine_do_not_decide() -> None:
    later = [timed(100 + i, 30.0 + 0.01 * i) for i in range(6)]
    step = time_checks(side(0, 20.0, 6), later).step
    assert step.outcome == "undecided"
    assert "did not alternate" in (step.reason or "")
    assert outcome(side(0, 20.0, 6), later, is_steady=True) == "beyond"
    elsewhere = [timed(1 + 2 * i, 30.0, machine=Machine("there", 4)) for i in range(6)]
    assert "different machines" in (time_checks(side(0, 20.0, 6), elsewhere).step.reason or "")
    cards = [msgspec.structs.replace(HERE, gpus=(Gpu("GPU:0", name),)) for name in ("A", "B")]
    mine, others = (
        [timed(first + 2 * i, 20.0, machine=card) for i in range(6)]
        for first, card in enumerate(cards)
    )
    assert "1 × B" in (time_checks(mine, others).step.reason or "")
    assert time_checks(side(0, 20.0, 6), others).step.outcome == "within", "cards are not known"
    same = side(0, 20.0, 6)
    assert "itself" in (time_checks(same, same).step.reason or "")


def test_a_part_that_grew_fails_even_if_the_step_did_not() -> None:
    a = side(0, 20.0, 8, noise=0.002, phase_wait=2.0, phase_compute=14.0)
    b = side(1, 20.0, 8, noise=0.002, phase_wait=4.0, phase_compute=14.0)
    times = time_checks(a, b)
    outcomes = {check.name: check.outcome for check in times.checks}
    assert outcomes == {"step": "within", "phase wait": "beyond", "phase compute": "within"}
    wait = times.checks[1]
    assert wait.growth == pytest.approx(0.1, abs=0.01)
    assert wait.level > times.step.level


def test_a_new_kind_of_op_counts_from_zero_and_a_short_one_does_not_count() -> None:
    a = side(0, 20.0, 6, noise=0.001)
    b = side(1, 20.0, 6, noise=0.001, op_Sort=2.0, op_Pad=0.1)
    outcomes = {check.name: check.outcome for check in time_checks(a, b).checks}
    assert outcomes == {"step": "within", "op Sort": "beyond"}


# The file


def test_the_file_comes_back_as_it_was(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a"), checked_run(tmp_path / "b", seed=1)])
    save(baseline, tmp_path / "deep" / "baseline.json")
    assert read_baseline(tmp_path / "deep" / "baseline.json") == baseline
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["baseline.json"]


def test_a_baseline_keeps_the_step_time_that_a_comparison_tells(tmp_path: Path) -> None:
    accepted = checked_run(tmp_path / "a")
    profile = strategy_profiles.load(tmp_path / "a")
    compared = comparison_document(compare_sets([profile], [profile]), [])
    assert compared["a"]["runs"][0]["median_ms"] == accepted.run.time.median_ms


@pytest.mark.parametrize(
    "text", ["", "{}", "[" * 5000, '{"schema_version": 2}', "\x00", '{"schema_version": NaN}']
)
def test_a_run_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(LabError, match="is not a baseline"):
        read_baseline(file)


def test_a_baseline_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    save(accept([checked_run(tmp_path / "a")]), file)
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"schema_version": 7}))
    with pytest.raises(LabError, match="schema_version is 7"):
        read_baseline(file)


def test_runs_that_cannot_be_compared_say_why(tmp_path: Path) -> None:
    baseline = accept([checked_run(tmp_path / "a")])
    with pytest.raises(LabError, match="global batch differs: 256 in the baseline and 64 in b"):
        gate(baseline, [checked_run(tmp_path / "b", global_batch_size=64)])
    with pytest.raises(LabError, match="workload differs"):
        gate(baseline, [checked_run(tmp_path / "c", prefix="other-")])
    with pytest.raises(LabError, match="is failed, not finished"):
        checked_run(tmp_path / "d", ending="failed")
    with pytest.raises(LabError, match="named twice"):
        gate(baseline, [checked_run(tmp_path / "e")] * 2)


# Formats


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    """Six runs in turns against six, with hostile names, more bytes and 20 % longer steps."""
    folder = tmp_path_factory.mktemp("gate")
    sides: dict[str, list[CheckedRun]] = {"a": [], "b": []}
    for number in range(12):
        which = "ab"[number % 2]
        slow: dict[str, Any] = {"step_ms": 24.0, "collective_bytes": (3_000_000, 262_144)}
        options = slow if which == "b" else {}
        name = f"{which}{number}"
        run = checked_run(
            folder / name, seed=number, begins_s=60.0 * number, prefix=HOSTILE, **options
        )
        sides[which].append(run)
    return gate(accept(sides["a"]), sides["b"])


@pytest.mark.slow
def test_the_whole_gate_finds_the_step_and_the_bytes(failed: GateReport) -> None:
    assert failed.outcome == "beyond"
    assert failed.times is not None
    beyond = {check.name for check in failed.times.checks if check.outcome == "beyond"}
    assert beyond >= {"step", "phase compute", "replica 0, own work"}
    assert not beyond & {"phase transfer", "all-reduce of 4, transfer"}


def test_markdown_shows_names_as_text(failed: GateReport) -> None:
    text = markdown(failed, 0.02, "strategy-lab baseline b -o baseline.json")
    assert "<script>" not in text
    assert text.startswith("### Strategy Lab: Beyond the baseline")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert any(line.startswith("| step | ") and "❌ beyond" in line for line in rows)
    cells = {line.replace("\\|", "").count("|") for line in rows}
    assert cells == {6}
    assert "strategy-lab baseline b -o baseline.json" in text
    assert "parts do not add up to the step" in text
    without_times = markdown(replace(failed, times=None), 0.02, "strategy-lab baseline b")
    assert "parts do not add up" not in without_times


def test_a_change_of_bytes_is_written_as_people_read_it(failed: GateReport) -> None:
    copied = replace(failed.exact[0], group="copies", name="bytes", accepted=32, found=65_600)
    text = markdown(replace(failed, exact=(copied,)), 0.02, "strategy-lab baseline b")
    assert "| 32 B | 65.6 kB | 2,050 times |" in text


def test_times_against_the_other_side_name_no_command_that_accepts_them(
    failed: GateReport,
) -> None:
    """The next check records the other side again."""
    assert failed.times is not None
    assert failed.times.is_paired
    assert "To accept these runs" in markdown(failed, 0.02, "strategy-lab baseline b")
    times = replace(failed, exact=())
    assert times.outcome == "beyond"
    assert "strategy-lab baseline" not in markdown(times, 0.02, "strategy-lab baseline b")
    of_another_day = replace(times, times=replace(failed.times, is_paired=False))
    assert "strategy-lab baseline" in markdown(of_another_day, 0.02, "strategy-lab baseline b")


def test_github_action_benchmark_has_its_fields(failed: GateReport) -> None:
    entries = github_action_benchmark(failed)
    step = next(entry for entry in entries if entry["name"].endswith(": step"))
    assert step["unit"] == "ms"
    assert step["value"] == pytest.approx(28.0, rel=0.05)
    assert step["range"].startswith("± ")
    assert {type(entry["value"]) for entry in entries} <= {int, float}
    assert all(set(e) <= {"name", "unit", "value", "range", "extra"} for e in entries)
    assert len({entry["name"] for entry in entries}) == len(entries)


def test_bencher_metric_format_has_bounds_around_the_value(failed: GateReport) -> None:
    metrics = bencher(failed)
    step = metrics[f"{failed.title}: step"]["milliseconds"]
    assert step["lower_value"] < step["value"] < step["upper_value"]
    moved = metrics[f"{failed.title}: collectives, all-reduce of 4, bytes per step"]
    assert moved == {"bytes": {"value": 3_262_144}}


def test_bencher_has_a_benchmark_for_each_number_under_a_name_that_it_takes(
    failed: GateReport,
) -> None:
    """Bencher refuses the whole file for a measure of more than 64 characters."""
    long = replace(failed.exact[0], group="copies", name=f"{'worker 1 ' * 20}, bytes", found=3.0)
    other = replace(long, name=long.name.upper() + ", bytes", found=5.0)
    metrics = bencher(replace(failed, exact=(*failed.exact, long, other)))
    assert {name for measures in metrics.values() for name in measures} == {
        "milliseconds",
        "bytes",
        "count",
    }
    assert len(metrics) == len(github_action_benchmark(failed)) + 2
    assert all(len(name) <= 1024 for name in metrics)


def test_numbers_that_may_grow_are_not_exported_to_benchmark_tools(failed: GateReport) -> None:
    """github-action-benchmark would alert about a run with more replicas."""
    names = [entry["name"] for entry in github_action_benchmark(failed)]
    assert any("memory, variables on" in name for name in names)
    own = [name.removeprefix(failed.title) for name in (*names, *bencher(failed))]
    assert not [name for name in own if re.search("number|ops on|placement", name)]


def test_each_failure_is_one_workflow_command(failed: GateReport) -> None:
    lines = workflow_commands(failed)
    assert all(line.startswith("::error title=Strategy Lab::") for line in lines)
    assert any("all-reduce of 4, bytes per step" in line for line in lines)
    assert all("\n" not in line for line in lines)
    assert any("%25 of the step" in line for line in lines)


def test_the_command_that_accepts_many_runs_lists_them_as_people_count() -> None:
    from_shell = ["runs/x-a-1", "runs/x-a-10", "runs/x-a-2", "runs/my run-3"]
    assert accept_command(from_shell, "base.json") == (
        "strategy-lab baseline 'runs/my run-3' runs/x-a-1 runs/x-a-2 runs/x-a-10 -o base.json"
    )
