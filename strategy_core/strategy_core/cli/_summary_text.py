"""A run's summary as a page of text: a sentence first, then the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strategy_core.cli._answer_text import print_parts
from strategy_core.cli._plain import plain_text
from strategy_profiles.added_questions import added_questions
from strategy_profiles.analysis.facts import Facts, gather_facts
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.answers.answer import Answer
from strategy_profiles.decoders import converted
from strategy_profiles.questions.breakdown import breakdown
from strategy_profiles.questions.communication import communication
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.loop import loop
from strategy_profiles.questions.placement import placement
from strategy_profiles.questions.step_memory import memory_over_step
from strategy_profiles.reporting import units
from strategy_profiles.reporting.thread_pools import set_pools
from strategy_profiles.run.event_parts import TpuFinding
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile

STATUS_STYLES = {"finished": "green", "running": "cyan", "stopped": "yellow"}


def print_summary(
    profile: Profile, summary: dict[str, Any], console: Console | None = None
) -> None:
    """Print a run's mapping of `strategy_profiles.analysis.summary`."""
    out = console or Console(emoji=False)
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
    first = headline_segment(profile)
    segments = zip(profile.segments, summary["segments"], strict=True)
    for opened, segment in sorted(segments, key=lambda pair: pair[0] is not first):
        _print_segment(segment, out)
        if opened is not first:  # tables of all segments would hide what was said first
            continue
        facts = gather_facts(profile, opened)
        for question in _questions(opened):
            print_parts(question(profile, facts).parts, out)
    if len(profile.segments) > 1:
        out.print("Tables of the other segments: in the report and on the page.")
    for note in summary["notes"]:
        out.print(plain_text(f"{note['level']}: {note['message']}", "yellow"))


def _print_clocks(clocks: Sequence[dict[str, Any]], out: Console) -> None:
    """How the clocks of a cluster's processes compare, each in a line."""
    for clock in clocks:
        source = clock["source"] or f"not known: {clock['source_reason']}"
        if source == "measured":
            apart = f"{-clock['offset_ms']:+.3f} ms relative to the first"
            source = f"{apart} (±{clock['uncertainty_ms']:.3f} ms)"
        out.print(plain_text(f"Clock of {clock['title']}: {source}", "dim"))


def _print_segment(segment: dict[str, Any], out: Console) -> None:
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
        for line in finding["change"]["difference"].splitlines() if finding["change"] else ():
            out.print(plain_text(line), soft_wrap=True)  # to be copied
    _print_on_tpu(segment["tpu_check"], out)


def _questions(segment: SegmentOpened) -> Iterator[Callable[[Profile, Facts], Answer]]:
    """Those about what a segment has, those of packages among them."""
    yield from (loop, breakdown)
    for each in added_questions().values():
        if (each.fits_summary or each.fits)(segment):
            yield each.answer
    yield from (communication, placement, memory_over_step, input_pipeline)


def _print_key_numbers(numbers: Sequence[dict[str, Any]], out: Console) -> None:
    table = Table.grid(padding=(0, 2))
    for item in numbers:
        cells = plain_text(item["text"], "bold"), plain_text(item["note"], "dim")
        table.add_row(plain_text(item["label"]), *cells)
    out.print(table)


def _print_on_tpu(report: dict[str, Any] | None, out: Console) -> None:
    """What a real TPU would refuse, run on its host, or run at a cost; what was not checked."""
    if report is None or not (report["findings"] or report["unchecked"]):
        return
    out.print(plain_text("On a real TPU", "bold"))
    for finding in report["findings"]:
        out.print(plain_text(f"• {converted(finding, TpuFinding).sentence()}"))
    for sentence in report["unchecked"]:
        out.print(plain_text(f"• Not checked: {sentence}."))
