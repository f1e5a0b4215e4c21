"""Sections that show answers of `questions`: one per segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strategy_profiles.added_questions import added_questions
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.answers.answer import Answer, Table
from strategy_profiles.questions.breakdown import TITLE, breakdown
from strategy_profiles.questions.communication import communication
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.over_steps import over_steps
from strategy_profiles.questions.placement import placement
from strategy_profiles.questions.run_memory import memory_over_run
from strategy_profiles.questions.step_memory import memory_over_step
from strategy_profiles.tables.store import Profile
from strategy_report.facts import RunFacts, Section
from strategy_report.html import as_html, charts

Question = Callable[[Profile, Facts], Answer]


def answered(
    facts: RunFacts, key: str, title: str, question: Question, *, of_run: Sequence[Answer] = ()
) -> Section:
    """Return the answers to a question, for each segment of a run, below those for all of it."""
    of_segments = [(item, question(facts.profile, item)) for item in facts.segments]
    return _section(key, title, [*((None, answer) for answer in of_run), *of_segments])


def _section(key: str, title: str, answers: Sequence[tuple[Facts | None, Answer]]) -> Section:
    drawn: dict[str, Any] = {}
    written = []
    for item, answer in answers:
        of = f"{item.segment.segment}_" if item else ""
        drawn |= charts(answer, of)
        written.append((item, as_html(answer, of)))
    values = {
        "segments": written,
        "formulas": tuple(dict.fromkeys(key for _, each in answers for key in each.formulas)),
        "has_tables": any(isinstance(part, Table) for _, each in answers for part in each.parts),
    }
    return Section(key, title, values, drawn, template="answers")


def steps_section(facts: RunFacts) -> Section | None:
    """Step time, throughput, loss and compute over the steps; None for a run without a step."""
    if not any(item.steps.count for item in facts.segments):
        return None
    return _section("steps", "Steps", [(None, over_steps(facts.profile))])


def replicas_section(facts: RunFacts) -> Section | None:
    """The phases of each replica's step."""
    return answered(facts, "replicas", TITLE, breakdown) if facts.segments else None


def memory_section(facts: RunFacts) -> Section | None:
    """Memory of each device or process over the run, and over a captured step of each segment."""
    if not facts.segments:
        return None
    of_run = [memory_over_run(facts.profile)]
    return answered(facts, "memory", "Memory", memory_over_step, of_run=of_run)


def input_section(facts: RunFacts) -> Section | None:
    """The stages of tf.data; None if no captured step of the run has events of them."""
    section = answered(facts, "input", "Input pipeline", input_pipeline)
    return section if section.values["has_tables"] else None


def communication_section(facts: RunFacts) -> Section | None:
    """Collectives with their bandwidth, sends between devices, and bytes between processes."""
    if not facts.segments:
        return None
    return answered(facts, "communication", "Communication", communication)


def added_sections(facts: RunFacts) -> list[Section]:
    """The questions that packages add, of those that fit a segment of the run."""
    return [
        answered(facts, key, each.title, each.answer)
        for key, each in added_questions().items()
        if any(each.fits(item.segment) for item in facts.segments)
    ]


def placement_section(facts: RunFacts) -> Section | None:
    """Ops, variables and their bytes on each device, and what a change moved."""
    return answered(facts, "placement", "Placement", placement) if facts.segments else None
