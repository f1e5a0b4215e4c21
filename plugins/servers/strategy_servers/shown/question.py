"""Parameter servers: what did each worker do, what waited, what does each server hold and move?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.added_questions import Question
from strategy_profiles.analysis.parameter_server import ParameterServing, parameter_serving
from strategy_profiles.answers.answer import (
    Answer,
    Bars,
    Bold,
    Column,
    Line,
    Lines,
    Missing,
    Part,
    Table,
    table,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import SIDE_COLOURS, replica_colour
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.served_tables import SERVED_PARTS

if TYPE_CHECKING:
    from strategy_profiles.analysis.facts import Facts
    from strategy_profiles.tables.store import Profile

KEY = "servers"
TITLE = "Parameter servers"
SMALL = 0.75
"""Of an even part of the steps: who did less is worth naming."""
MOST_BINS, STEPS_PER_BIN = 60, 5
"""Bins of a step or two would draw jumps between whole numbers of steps, not a rate."""
_STEPS = "Each worker's step"
_OWN_STEP = (
    "the workload's own train_step pulls and pushes during the step, so these parts are not known "
    "separately"
)
_FEEDS = {
    "worker": "Each worker reads its own part of the data.",
    "coordinator": "The data set runs Python code: the coordinator reads it and sends each batch.",
}
_MOVED = (
    Column("pull_bytes", "Pulled per step", "bytes"),
    Column("push_bytes", "Pushed per step", "bytes"),
)
_SERVERS = (
    Column("process", "Process", "count", is_detail=True),
    Column("num_weights", "Weights", "count"),
    Column("weight_bytes", "Model", "bytes"),
    Column("optimizer_bytes", "Optimizer", "bytes"),
    *_MOVED,
)
_VARIABLES = (
    Column("name", "Variable", "name"),
    Column("role", "Role"),
    Column("process", "Process", "count"),
    Column("which_part", "Part"),
    Column("shape", "Shape", "name"),
    Column("bytes", "Size", "bytes"),
    *_MOVED,
)


def servers(profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment."""
    serving = parameter_serving(profile, facts.segment)
    if serving.reason:
        remedy = "Choose ParameterServerStrategy for a new run to see its workers and servers here."
        return Answer(KEY, parts=(Missing(KEY, "", serving.reason, remedy, needs_new_run=True),))
    # TensorFlow's names: the coordinator is process 0.
    names = {item.worker: f"worker {item.worker - 1}" for item in serving.workers}
    return Answer(
        KEY,
        _sentence(serving, names, facts),
        parts=(
            _steps(serving, names),
            _rates(serving, names),
            _queue(serving, names),
            _workers(serving, names),
            *_server_tables(serving),
            _traffic(serving, names),
        ),
        formulas=("served_step", "closures", "served_bytes"),
    )


def _sentence(serving: ParameterServing, names: Mapping[int, str], facts: Facts) -> tuple[str, ...]:
    """Who did how much, and what a step is made of.

    The share of pulling and pushing is that of the page Why: of the mean step of all workers.
    """
    said = [
        Bold(units.counted(len(serving.workers), "worker")), " did ",
        Bold(f"{serving.num_steps:,}"), " steps, each at its own pace, on variables of ",
        Bold(units.counted(len(serving.servers), "parameter server")), ".",
    ]  # fmt: skip
    even = serving.num_steps / max(len(serving.workers), 1)
    least = min(serving.workers, key=lambda item: item.num_steps)
    if len(serving.workers) > 1 and least.num_steps < SMALL * even:
        who = names[least.worker].capitalize()
        said += [f" {who} did only ", Bold(f"{least.num_steps:,}"), " of them."]
    wall, transfer = map(facts.breakdown.mean_ms, ("wall", "transfer"))
    if wall and transfer is not None:
        share = Bold(units.share(transfer / wall))
        said += [" Pulling and pushing take ", share, " of a worker's step."]
    return tuple(said)


def _steps(serving: ParameterServing, names: Mapping[int, str]) -> Part:
    parts = {name: tuple(item.phases_ms[name] for item in serving.workers) for name in SERVED_PARTS}
    if not any(parts["delay"]):
        del parts["delay"]
    if all(value is None for value in parts["pull"]):
        return Missing("served_steps", _STEPS, _OWN_STEP)
    return Bars(
        "served_steps",
        _STEPS,
        tuple(names.values()),
        parts,
        "ms per step",
        "Worker",
        definition="served_step",
        notes=(
            "Measured by timestamps inside each step, on the worker's clock.",
            "The time in which a worker has no closure to run is not in its bar.",
        ),
    )


def _rates(serving: ParameterServing, names: Mapping[int, str]) -> Lines:
    finished = serving.finished_s or {}
    end = max((float(times.max()) for times in finished.values() if len(times)), default=1.0)
    num_bins = min(MOST_BINS, max(map(len, finished.values()), default=0) // STEPS_PER_BIN)
    edges = np.linspace(0, max(end, 1e-9), max(num_bins, 1) + 1)
    return Lines(
        "served_rates",
        "Steps over time",
        tuple(
            _rate(names[worker], times, edges, replica_colour(index))
            for index, (worker, times) in enumerate(finished.items())
        ),
        "seconds",
        "steps/s",
        "number",
        tuple(_marks(serving, names)),
        notes=tuple(item.message for item in serving.absences),
    )


def _rate(name: str, times: Floats, edges: Floats, colour: str) -> Line:
    counts, _ = np.histogram(times, edges)
    per_second = counts / (edges[1] - edges[0])
    return Line(name, tuple((edges[:-1] + edges[1:]) / 2), tuple(per_second), colour)


def _marks(serving: ParameterServing, names: Mapping[int, str]) -> Iterator[tuple[float, str]]:
    """When a worker was lost, and when it came back."""
    for item in serving.absences:
        if item.lost_s is not None:
            yield item.lost_s, f"{names[item.worker]} lost"
            if item.back_s is not None:
                yield item.back_s, f"{names[item.worker]} back"


def _queue(serving: ParameterServing, names: Mapping[int, str]) -> Part:
    title, moments = "Closures over time", serving.moments
    if moments is None:
        return Missing("closures", title, serving.moments_reason or "not recorded")
    at = tuple(moments.at_s.tolist())
    lines = (
        Line("queued", at, tuple(moments.queued.tolist()), SIDE_COLOURS["B"]),
        Line("in flight", at, tuple(moments.in_flight.tolist()), SIDE_COLOURS["A"]),
    )
    return Lines(
        "closures", title, lines, "seconds", "closures", "count", tuple(_marks(serving, names)),
        is_stepped=True, definition="closures",
    )  # fmt: skip


def _workers(serving: ParameterServing, names: Mapping[int, str]) -> Table:
    columns = (
        Column("worker", "Worker", "name", value=lambda item: names[item.worker]),
        Column("num_steps", "Steps", "count"),
        Column("steps_per_second", "Steps/s", "number"),
        Column("busy_share", "Busy", "share"),
        Column("wall_ms", "Working", "ms"),
        Column("queue_ms", "Queued", "ms"),
        Column(
            "return_ms",
            "Delivery",
            "ms",
            "From the end of the push until the coordinator has the result.",
        ),
    )
    notes = ("Times are means of the typical steps without the first.", _FEEDS[serving.feed])
    return table(
        "served_workers", "Each worker", serving.workers, columns, source="marks", notes=notes
    )


def _server_tables(serving: ParameterServing) -> Iterator[Table]:
    """What each server holds, then every variable."""
    name = Column("name", "Server", "name", value=lambda each: _name(serving.servers.index(each)))
    yield table("servers", "Each server", serving.servers, (name, *_SERVERS), source="derived")
    largest = sorted(serving.variables, key=lambda item: -item.bytes)
    yield table(
        "served_variables",
        "Every variable",
        largest,
        _VARIABLES,
        empty="No variable of the servers was recorded.",
        is_searched=True,
        is_minor=True,
    )


def _name(server: int) -> str:
    return f"parameter server {server}"


def _traffic(serving: ParameterServing, names: Mapping[int, str]) -> Table:
    """Bytes pulled and pushed between each worker and each server, in the whole segment."""
    rows = [
        (
            names[worker.worker],
            _name(number),
            *(
                None if each is None else each * worker.num_steps
                for each in (server.pull_bytes, server.push_bytes)
            ),
        )
        for worker in serving.workers
        for number, server in enumerate(serving.servers)
    ]
    columns = (
        Column("worker", "Worker", "name"),
        Column("server", "Server", "name"),
        Column("pulled", "Pulled", "bytes"),
        Column("pushed", "Pushed", "bytes"),
    )
    is_known = any(server.pull_bytes is not None for server in serving.servers)
    note = (
        "The sizes of the variables and of their gradients, times the steps of the worker. Sparse "
        "gradients whose size is only known during the step are not included."
        if is_known
        else "Not available: the workload's own train_step decides what it pulls and pushes."
    )
    return Table(
        "served_traffic",
        "Pulls and pushes",
        columns,
        tuple(rows),
        source="derived",
        definition="served_bytes",
        notes=(note,),
    )


QUESTION = Question(TITLE, servers, fits=has_servers)
