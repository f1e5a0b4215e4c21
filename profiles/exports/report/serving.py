"""Parameter servers: each worker's step, and the variables of each server."""

from __future__ import annotations

from strategy_lab.profiles.analysis.parameter_server import (
    ParameterServing,
    parameter_serving,
)
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import (
    Section,
    cut,
    formulas,
    name,
    note,
    quantity,
    table,
)
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.palette import phase_name
from strategy_lab.profiles.run.topology import has_servers
from strategy_lab.profiles.tables.served_tables import SERVED_PARTS

MAX_VARIABLES = 40


def serving(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without parameter servers."""
    served = [item for item in facts.segments if has_servers(item.segment)]
    if not served:
        return None
    parts: list[Markup | None] = []
    for item in served:
        parts.append(tag("h3", title_of(item.segment)) if len(facts.segments) > 1 else None)
        parts.append(_segment(parameter_serving(facts.profile, item.segment)))
    parts.append(formulas("served_step", "closures", "served_bytes"))
    return Section("servers", "Parameter servers", join(*parts))


def _segment(found: ParameterServing) -> Markup:
    if found.reason:
        return note(f"Unavailable: {found.reason}.")
    return join(
        _workers(found),
        *(note(item.message) for item in found.absences),
        _servers(found),
        _variables(found),
    )


def _workers(found: ParameterServing) -> Markup:
    rows = [
        (
            name(f"worker {item.worker - 1}"),
            quantity(f"{item.num_steps:,}", item.num_steps),
            quantity(units.rate(item.steps_per_second, "steps"), item.steps_per_second),
            *(
                quantity(units.milliseconds(item.phases_ms[phase]), item.phases_ms[phase])
                for phase in SERVED_PARTS
            ),
            quantity(units.milliseconds(item.queue_ms), item.queue_ms),
        )
        for item in found.workers
    ]
    heads = (
        "Worker",
        "Steps",
        "Rate",
        *(phase_name(phase).capitalize() for phase in SERVED_PARTS),
        "Queued",
    )
    return table("Each worker's typical step", heads, rows, source="marks")


def _servers(found: ParameterServing) -> Markup:
    rows = [
        (
            name(f"parameter server {index}"),
            quantity(f"{item.num_weights:,}", item.num_weights),
            quantity(units.size(item.weight_bytes), item.weight_bytes),
            quantity(units.size(item.optimizer_bytes), item.optimizer_bytes),
            quantity(units.size(item.pull_bytes), item.pull_bytes),
            quantity(units.size(item.push_bytes), item.push_bytes),
        )
        for index, item in enumerate(found.servers)
    ]
    heads = ("Server", "Weights", "Model", "Optimizer", "Pulled per step", "Pushed per step")
    return table("Variables and traffic of each server", heads, rows, source="derived")


def _variables(found: ParameterServing) -> Markup:
    largest = sorted(found.variables, key=lambda item: -item.bytes)[:MAX_VARIABLES]
    rows = [
        (
            name(item.name),
            item.role,
            f"{item.part + 1} of {item.num_parts}",
            name(item.shape),
            quantity(units.size(item.bytes), item.bytes),
            quantity(str(item.process), item.process),
        )
        for item in largest
    ]
    heads = ("Variable", "Role", "Part", "Shape", "Size", "On process")
    return table(f"Variables{cut(len(found.variables), MAX_VARIABLES)}", heads, rows)
