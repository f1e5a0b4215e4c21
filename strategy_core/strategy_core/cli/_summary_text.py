"""A run's summary as a page of text: a sentence first, then the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strategy_core.cli._answer_text import print_parts
from strategy_core.cli._plain import plain_text
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.answers.answer import Answer
from strategy_profiles.decoders import converted
from strategy_profiles.questions.breakdown import breakdown
from strategy_profiles.questions.communication import communication
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.loop import loop
from strategy_profiles.questions.placement import placement
from strategy_profiles.questions.servers import servers
from strategy_profiles.questions.step_memory import memory_over_step
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import PHASE_COLOURS, phase_name
from strategy_profiles.reporting.thread_pools import set_pools
from strategy_profiles.run.event_parts import TpuFinding
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

_QUESTIONS = {
    "loop": loop,
    "breakdown": breakdown,
    "communication": communication,
    "servers": servers,
    "placement": placement,
    "memory": memory_over_step,
    "input": input_pipeline,
}
STATUS_STYLES = {"finished": "green", "running": "cyan", "stopped": "yellow"}


def print_summary(
    profile: Profile, summary: dict[str, Any], console: Console | None = None
) -> None:
    """Print a run's mapping of `strategy_profiles.analysis.summary`."""
    out = console or Console()
    status = summary["status"]
    out.print(
        plain_text(summary["run"], "bold"), Text(status, style=STATUS_STYLES.get(status, "red"))
    )
    if said := summary["headline"] or summary["status_message"]:
        out.print(plain_text(said))
    environment = summary["environment"]
    cpus = (environment.get("host") or {}).get("cpus")
    versions = [f"TensorFlow {environment['tensorflow']}"] if environment.get("tensorflow") else []
    pools = set_pools(**(environment.get("threads") or {"inter_op": 0, "intra_op": 0}))
    known = [*versions, *([units.counted(cpus, "CPU core")] if cpus else []), *pools]
    if known:
        out.print(plain_text(", ".join(known)))
    _print_clocks(summary["clocks"], out)
    if not summary["segments"]:
        out.print("No step was recorded.")
    for opened, segment in zip(profile.segments, summary["segments"], strict=True):
        facts = gather_facts(profile, opened)
        answers = {key: ask(profile, facts) for key, ask in _QUESTIONS.items()}
        _print_segment(segment, answers, out)
    for note in summary["notes"]:
        out.print(plain_text(f"{note['level']}: {note['message']}", "yellow"))


def _print_clocks(clocks: Sequence[dict[str, Any]], out: Console) -> None:
    """How the clocks of a cluster's processes compare, each in a line."""
    for clock in clocks:
        told = clock["source"] or f"not known: {clock['source_reason']}"
        if told == "measured":
            apart = f"{-clock['offset_ms']:+.3f} ms relative to the first"
            told = f"{apart} (±{clock['uncertainty_ms']:.3f} ms)"
        out.print(plain_text(f"Clock of {clock['title']}: {told}", "dim"))


def _print_segment(segment: dict[str, Any], answers: dict[str, Answer], out: Console) -> None:
    batch = segment["global_batch_size"] or "unknown"
    title = (
        f"Segment {segment['segment']}: {segment['strategy']}, "
        f"{units.counted(segment['num_replicas'], 'replica')}, global batch {batch}"
    )
    out.print()
    out.print(plain_text(title, "bold"))
    out.print(plain_text(segment["headline"]))
    _print_key_numbers(segment["key_numbers"], out)
    for finding in segment["findings"]:
        cost = plain_text(f"• {finding['cost_text']}:", "bold")
        gain = [plain_text(finding["gain"]["sentence"])] if finding["gain"] else []
        out.print(
            cost, plain_text(finding["sentence"]), *gain, plain_text(finding["advice"], "dim")
        )
    print_parts(answers["loop"].parts, out)
    print_parts(answers["breakdown"].parts, out)
    _print_cores(segment, out)
    _print_on_tpu(segment["tpu_check"], out)
    print_parts(answers["communication"].parts, out)
    if unlike := segment["capture"]["unlike_others"]:
        out.print(plain_text(unlike, "dim"))
    if segment["parameter_servers"]:
        print_parts(answers["servers"].parts, out)
    print_parts(answers["placement"].parts, out)
    print_parts(answers["memory"].parts, out)
    print_parts(answers["input"].parts, out)


def _print_key_numbers(numbers: Sequence[dict[str, Any]], out: Console) -> None:
    table = Table.grid(padding=(0, 2))
    for item in numbers:
        shown = plain_text(item["text"], "bold"), plain_text(item["note"], "dim")
        table.add_row(plain_text(item["label"]), *shown)
    out.print(table)


def _steps(rows: Sequence[dict[str, Any]]) -> str:
    return units.counted(rows[0]["num_steps"], "step")


def _print_cores(segment: dict[str, Any], out: Console) -> None:
    """Each core of a TPU's replicas, where a replica has several."""
    cores = [core for core in segment["cores"] if core["wall_ms"] is not None]
    if any(core["core"] for core in cores):
        title = f"The same of every core: {_steps(cores)}, from full captures"
        _print_phases(title, ("replica", "core"), cores, out)


def _print_on_tpu(found: dict[str, Any] | None, out: Console) -> None:
    """What a real TPU would refuse, run on its host, or run at a cost; what was not checked."""
    if found is None or not (found["findings"] or found["unchecked"]):
        return
    out.print(plain_text("On a real TPU", "bold"))
    for finding in found["findings"]:
        out.print(plain_text(f"• {converted(finding, TpuFinding).sentence()}"))
    for sentence in found["unchecked"]:
        out.print(plain_text(f"• Not checked: {sentence}."))


def _print_phases(
    title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]], out: Console
) -> None:
    """A row per replica or core, named by `keys` and its device, its phases and their sum."""
    table = Table(title=title, title_justify="left")
    for name in (*keys, "device"):
        table.add_column(name)
    shown = [
        phase for phase in CATEGORIES if phase != "delay" or any(row["delay_ms"] for row in rows)
    ]
    for phase in shown:
        table.add_column(phase_name(phase), justify="right", style=PHASE_COLOURS[phase])
    table.add_column("step", justify="right", style="bold")
    for row in rows:
        device = (row["device"] or units.MISSING).rpartition("/device:")[2]
        phases = [units.number(row[f"{phase}_ms"]) for phase in shown]
        names = [str(row[key]) for key in keys]
        table.add_row(*names, plain_text(device), *phases, units.number(row["wall_ms"]))
    out.print(table)
