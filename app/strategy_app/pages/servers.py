"""Parameter servers: each worker's steps, the queue, variables per server, and bytes moved."""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from strategy_app.charts.phases import breakdown as breakdown_chart
from strategy_app.charts.serving import AbsenceMark, closures, step_rates
from strategy_app.screen.answer import show_parts
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.empty import empty
from strategy_app.widgets.picker import needs, run_page
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_html, as_markdown, plain
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.analysis.breakdown import StepBreakdown
from strategy_profiles.analysis.parameter_server import (
    ParameterServing,
    ServedWorker,
    parameter_serving,
)
from strategy_profiles.questions.links import links_part
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.palette import SERVING_COLOURS
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.served_tables import SERVED_PARTS

_SMALL = 0.75  # of an even part of the steps: who did less is worth naming


def page() -> None:
    opened = run_page(
        "Parameter servers",
        shows="what each server holds, and what workers pull from it and push to it",
        needed="ParameterServerStrategy",
        suits=needs(attrgetter("has_servers")),
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        show(opened, segment)


def show(opened: OpenRun, segment: SegmentOpened) -> None:
    found = opened.ask(parameter_serving, segment)
    if found.reason:
        empty(
            f"{found.reason}.",
            "Choose ParameterServerStrategy in the Lab to see its workers and servers here.",
            page="lab",
            link="Open the Lab",
        )
        return
    names = worker_names(found)
    show_sentence(sentence(found, names, opened.ask(facts_of, segment.segment).breakdown))
    left, right = st.columns(2)
    with left:
        show_workers(found, names)
    with right:
        show_time(found, names)
    show_servers(found)
    show_traffic(found, names)
    show_parts(opened.ask(links_part, segment))


def worker_names(found: ParameterServing) -> dict[int, str]:
    """Process number -> what TensorFlow calls the worker: the coordinator is process 0."""
    return {item.worker: f"worker {item.worker - 1}" for item in found.workers}


def sentence(found: ParameterServing, names: dict[int, str], breakdown: StepBreakdown) -> str:
    """Who did how much, and what a step is made of, as HTML.

    The share of pulling and pushing is that of the Overview: of the mean step of all workers.
    """
    text = (
        f"<b>{units.counted(len(found.workers), 'worker')}</b> did "
        f"<b>{found.num_steps:,}</b> steps, each at its own pace, on variables of "
        f"<b>{units.counted(len(found.servers), 'parameter server')}</b>."
    )
    even = found.num_steps / max(len(found.workers), 1)
    least = min(found.workers, key=lambda item: item.num_steps)
    if len(found.workers) > 1 and least.num_steps < _SMALL * even:
        text += f" {names[least.worker].capitalize()} did only <b>{least.num_steps:,}</b> of them."
    wall, transfer = breakdown.mean_ms("wall"), breakdown.mean_ms("transfer")
    if wall and transfer is not None:
        share = as_html(units.share(transfer / wall))
        text += f" Pulling and pushing take <b>{share}</b> of a worker's step."
    return text


def show_workers(found: ParameterServing, names: dict[int, str]) -> None:
    """What each worker's step is made of."""
    st.header("Each worker's step", help=DEFINITIONS["served_step"].text)
    if all(item.phases_ms["pull"] is None for item in found.workers):
        st.markdown(
            "The workload's own train_step pulls and pushes during the step, so these parts "
            "are not known separately."
        )
    else:
        phases = {name: [item.phases_ms[name] for item in found.workers] for name in SERVED_PARTS}
        chart = breakdown_chart(list(names.values()), phases, colours=SERVING_COLOURS)
        draw_chart(chart, key="servers_steps", alt="Parts of a step, by worker")
    show_table(
        "servers_workers",
        found.workers,
        {
            "worker": text("Worker", lambda item: names[item.worker], width="small"),
            "steps": number("Steps", lambda item: item.num_steps, width=60, format="localized"),
            "rate": number("Steps/s", lambda item: item.steps_per_second, width=65, format="%.1f"),
            "busy": number(
                "Busy, %",
                lambda item: None if item.busy_share is None else 100 * item.busy_share,
                width=65,
                format="%.0f",
            ),
            "wall": number("Working, ms", lambda item: item.wall_ms, width=90, format="%.2f"),
            "queue": number("Queued, ms", lambda item: item.queue_ms, width=90, format="%.2f"),
            "return": number("Delivery, ms", lambda item: item.return_ms, width=95, format="%.2f"),
        },
    )
    st.caption(
        "Measured by timestamps inside each step, on the worker's clock: means of its typical "
        "steps without the first. Delivery: from the end of the push until the coordinator has the "
        "result. " + FEEDS[found.feed]
    )


FEEDS = {
    "worker": "Each worker reads its own part of the data.",
    "coordinator": "The data set runs Python code: the coordinator reads it and sends each batch.",
}


def show_time(found: ParameterServing, names: dict[int, str]) -> None:
    """The run over time: rates, the queue, who was away."""
    marks = [
        AbsenceMark(names[item.worker], item.lost_s, item.back_s)
        for item in found.absences
        if item.lost_s is not None
    ]
    st.header("Over time", help=DEFINITIONS["closures"].text)
    finished = {names[number]: times for number, times in (found.finished_s or {}).items()}
    rates = step_rates(finished, marks)
    draw_chart(rates, key="servers_rates", alt="Steps per second of each worker, over time")
    if found.moments is None:
        st.markdown(f"Queue not available: {as_markdown(found.moments_reason or '')}.")
    else:
        moments = found.moments
        chart = closures(moments.at_s, moments.queued, moments.in_flight, marks)
        draw_chart(chart, key="servers_queue", alt="Closures queued and in flight, over time")
    for item in found.absences:
        st.markdown(f"- {as_markdown(item.message)}")


def show_servers(found: ParameterServing) -> None:
    """What each server holds, then every variable."""
    st.header("Variables of each server")
    moved = {
        "pull": number("Pulled, bytes/step", lambda item: item.pull_bytes, format="localized"),
        "push": number("Pushed, bytes/step", lambda item: item.push_bytes, format="localized"),
    }
    show_table(
        "servers_servers",
        found.servers,
        {
            "server": text("Server", lambda item: f"parameter server {found.servers.index(item)}"),
            "process": number("Process", lambda item: item.process, width="small"),
            "weights": number("Weights", lambda item: item.num_weights, width="small"),
            "weight_bytes": number(
                "Model, bytes", lambda item: item.weight_bytes, format="localized"
            ),
            "optimizer_bytes": number(
                "Optimizer, bytes", lambda item: item.optimizer_bytes, format="localized"
            ),
            **moved,
        },
    )
    with st.expander(f"Every variable ({len(found.variables)})"):
        show_table(
            "servers_variables",
            found.variables,
            {
                "name": text("Variable", lambda item: plain(item.name, 90), width="large"),
                "role": text("Role", lambda item: item.role, width="small"),
                "process": number("Process", lambda item: item.process, width="small"),
                "part": text("Part", lambda item: item.which_part, width="small"),
                "shape": text("Shape", lambda item: plain(item.shape, 40), width="small"),
                "bytes": number("Bytes", lambda item: item.bytes, format="localized"),
                **moved,
            },
        )


def show_traffic(found: ParameterServing, names: dict[int, str]) -> None:
    """Bytes pulled and pushed between each worker and each server, in the whole segment."""
    st.header("Pulls and pushes", help=DEFINITIONS["served_bytes"].text)

    def bytes_of(num_bytes: float | None, worker: ServedWorker) -> float | None:
        return None if num_bytes is None else num_bytes * worker.num_steps

    show_table(
        "servers_traffic",
        [(worker, *each) for worker in found.workers for each in enumerate(found.servers)],
        {
            "worker": text("Worker", lambda row: names[row[0].worker]),
            "server": text("Server", lambda row: f"parameter server {row[1]}"),
            "pulled": number(
                "Pulled, bytes", lambda row: bytes_of(row[2].pull_bytes, row[0]), format="localized"
            ),
            "pushed": number(
                "Pushed, bytes", lambda row: bytes_of(row[2].push_bytes, row[0]), format="localized"
            ),
        },
    )
    is_told = any(server.pull_bytes is not None for server in found.servers)
    st.caption(
        "Derived: the sizes of the variables and of their gradients, times the steps of the "
        "worker. Sparse gradients whose size is only known during the step are not included."
        if is_told
        else "Not available: the workload's own train_step decides what it pulls and pushes."
    )


page()
