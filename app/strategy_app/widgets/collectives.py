"""The collectives of a segment: a table of ops with their bandwidths, and who waits in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from strategy_app.charts.waiting import wait_and_transfer
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.table import Column, number, show_selectable_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.breakdown import ReplicaBreakdown, StepBreakdown
from strategy_profiles.analysis.collective_calls import CollectiveCall, ReplicaCall
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.tables.schema import ESTIMATED

TABLE = "collectives_table"
GIGA = 1e9
_ESTIMATE = (
    "Estimated: at the end of a capture the event of a replica is missing. That replica entered "
    "the collective before any other left it, which bounds where wait ends and transfer begins."
)


def show_collectives(calls: Sequence[CollectiveCall], num_replicas: int) -> CollectiveCall | None:
    """The table; the op whose row was chosen, if any."""
    st.header("Collectives", help=DEFINITIONS["traffic"].text)
    if not calls:
        st.markdown("No collective in the captured steps: nothing was reduced across replicas.")
        return None
    # One unit for all of them, so that they can be compared digit by digit.
    fastest = max((call.busbw_gbps or call.algbw_gbps or 0.0 for call in calls), default=0.0)
    scale, unit = units.size_unit(fastest * GIGA)
    is_estimated = any(ESTIMATED in (call.source or "") for call in calls)
    columns = _columns(f"{unit}/s", GIGA / scale, 150 if is_estimated else 80)
    chosen: CollectiveCall | None = show_selectable_table(TABLE, calls, columns, most_rows=9)
    if whose := whose_times(calls, num_replicas):
        st.caption(whose)
    if is_estimated:
        st.caption(_ESTIMATE)
    st.caption(formulas())
    return chosen


def whose_times(calls: Sequence[CollectiveCall], num_replicas: int) -> str:
    """Whose times the table has; empty if it has those of all members of each collective.

    A member that is no replica, such as a pod's coordinator, has no times of its own.
    """
    numbers = sorted({part.replica for call in calls for part in call.replicas})
    members = [(min(call.group_size or 0, num_replicas), len(call.replicas)) for call in calls]
    if not numbers or all(size <= num_known for size, num_known in members):
        return ""
    which, known = (
        "replica" if len(numbers) == 1 else "replicas",
        units.listed([*map(str, numbers)]),
    )
    return (
        f"Wait, transfer and bandwidths are those of {which} {known}: the processes of the others "
        "recorded no ops."
    )


def formulas() -> str:
    """The two bandwidths as they are computed, with their source."""
    found = (DEFINITIONS["algbw"], DEFINITIONS["busbw"])
    lines = "; ".join(item.formula for item in found)
    return as_markdown(f"{lines} ({found[1].source}). n is the group size; 1 GB is 10^9 bytes.")


def show_replicas(
    calls: Sequence[CollectiveCall],
    chosen: CollectiveCall | None,
    breakdown: StepBreakdown,
    titles: Mapping[int, str],
) -> None:
    """Who waits, and how long tensors move: in the whole step, or in one call of the chosen op.

    `calls` are those of the table, `titles` what the run's processes are called, by number.

    The whole step is the breakdown's: collectives that run side by side are never summed.
    """
    st.header("Wait and transfer per replica", help=DEFINITIONS["wait"].text)
    parts: Sequence[ReplicaCall | ReplicaBreakdown] = (
        chosen.replicas if chosen else breakdown.replicas
    )
    if not parts or all(part.wait_ms is None for part in parts):
        st.markdown("Not recorded per replica.")
        return
    if not any((part.wait_ms or 0.0) + (part.transfer_ms or 0.0) for part in parts):
        st.markdown("No replica waits in a collective, and none moves a tensor.")
        return
    chart = wait_and_transfer(
        _names(parts, breakdown, titles),
        [part.wait_ms for part in parts],
        [part.transfer_ms for part in parts],
        unit="ms per call" if chosen else "ms per step",
    )
    draw_chart(chart, key="comm_replicas", alt="Wait and transfer per replica")
    if chosen:
        st.caption(f"{as_markdown(chosen.op)} {chosen.place}, {as_markdown(chosen.name, 80)}.")
    elif calls:
        st.caption("All collectives of a step. Choose a row of the table to see a single op.")


def _names(
    parts: Sequence[ReplicaCall | ReplicaBreakdown],
    breakdown: StepBreakdown,
    titles: Mapping[int, str],
) -> list[str]:
    """`replica 1`, or `worker 1 / replica 1` where they are in several processes."""
    worker = {known.replica: known.worker for known in breakdown.replicas}
    names = [f"replica {part.replica}" for part in parts]
    if len(set(worker.values())) < 2:
        return names
    process = {each: titles.get(number, f"worker {number}") for each, number in worker.items()}
    return [
        f"{process[part.replica]} / {name}" if part.replica in process else name
        for part, name in zip(parts, names, strict=True)
    ]


def _instances(call: CollectiveCall) -> str | None:
    if call.instances is None:
        return None
    first, last = call.instances
    return str(first) if first == last else f"{first} to {last}"


def _columns(bandwidth: str, per_giga: float, source_width: int) -> dict[str, Column]:
    def scaled(gbps: float | None) -> float | None:
        return None if gbps is None else gbps * per_giga

    return {
        "op": text("Collective", lambda call: plain(call.op), width=85),
        "name": text("Op in the graph", lambda call: plain(call.name, 120), width=125),
        "place": number(
            "Call",
            lambda call: call.place,
            width=50,
            help="Its position among the calls of this op in a step.",
        ),
        "instance": text(
            "Instances",
            _instances,
            width="small",
            help="The runtime's instance keys, which increase with every step.",
        ),
        "group": number(
            "Group",
            lambda call: call.group_size,
            width=60,
            help="n: number of participating replicas.",
        ),
        "per_step": number("Per step", lambda call: call.per_step, width=65, format="%.3g"),
        "bytes": number(
            "Bytes",
            lambda call: call.bytes,
            width=102,  # room for ten digits
            format="localized",
            help="S: size of one call.",
        ),
        "wait_ms": _milliseconds("wait", lambda call: call.wait_ms),
        "transfer_ms": _milliseconds("transfer", lambda call: call.transfer_ms),
        "algbw": number(
            f"algbw, {bandwidth}",
            lambda call: scaled(call.algbw_gbps),
            width=95,
            format="%.3g",
            help=DEFINITIONS["algbw"].text,
        ),
        "busbw": number(
            f"busbw, {bandwidth}",
            lambda call: scaled(call.busbw_gbps),
            width=95,
            format="%.3g",
            help=DEFINITIONS["busbw"].text,
        ),
        "time": text(
            "Time from",
            lambda call: call.source or "unknown",
            width=source_width,
            help="Source of the times.",
        ),
        "size": text(
            "Bytes from",
            lambda call: call.bytes_source or "unknown",
            width=80,
            help="Source of the size.",
        ),
    }


def _milliseconds(phase: str, value: Callable[[CollectiveCall], float | None]) -> Column:
    title, text_ = f"{phase.capitalize()}, ms", DEFINITIONS[phase].text
    return number(title, value, width=87, format="%.3f", help=text_)
