"""Communication: what the replicas sent each other, how fast, and how much of it hid."""

from __future__ import annotations

import streamlit as st

from strategy_app.charts.waiting import wait_and_transfer
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.collectives import show_collectives, show_replicas
from strategy_app.widgets.empty import empty
from strategy_app.widgets.evidence import replica_names, say_unlike
from strategy_app.widgets.key_numbers import number, tile_of
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.process_links import links_of, show_links
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.text import as_html, as_markdown
from strategy_app.widgets.tiles import Tile, show_tiles
from strategy_app.widgets.traffic import show_matrix, show_sends
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.analysis.busiest_link import busiest_link, heaviest_source
from strategy_profiles.analysis.collective_calls import CollectiveCall, collective_calls
from strategy_profiles.analysis.communication import NO_COLLECTIVE, Communication
from strategy_profiles.analysis.findings import Facts
from strategy_profiles.analysis.key_numbers import (
    busbw,
    calls_note,
    exposed,
    in_unlike_steps,
    traffic,
)
from strategy_profiles.analysis.no_capture import LOST
from strategy_profiles.analysis.overlap import Overlap
from strategy_profiles.analysis.retracing import first_trace_note
from strategy_profiles.analysis.sends import sends
from strategy_profiles.capture.reductions import LAB_MARKS
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.events import SegmentOpened


def page() -> None:
    opened = run_page(
        "Communication",
        shows="what the replicas send each other, on which link and how fast",
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment)


def _show(opened: OpenRun, segment: SegmentOpened) -> None:
    facts = opened.ask(facts_of, segment.segment)
    if not facts.communication.num_steps:
        _show_without_window(opened, facts)
        return
    calls = opened.ask(collective_calls, segment.segment)
    sent = opened.ask(sends, segment.segment)
    if segment.num_replicas == 1 and not calls and not sent:
        _say_one_replica(opened)
        return
    show_sentence(_sentence(facts, calls))
    show_tiles(_tiles(facts), first_is_large=True)
    chosen = show_collectives(calls, segment.num_replicas)
    left, right = st.columns(2)
    with left:
        show_replicas(calls, chosen, facts.breakdown, opened.profile.process_titles)
    with right:
        show_matrix(facts.communication.traffic, segment.replica_devices)
    show_links(opened.ask(links_of, segment.segment))
    show_sends(sent)
    st.caption(
        f"Computed from {units.counted(facts.communication.num_steps, 'captured step')} of "
        "this segment. Times of different clocks are never added."
    )
    if note := opened.ask(first_trace_note, segment.segment):
        st.caption(as_markdown(note))
    say_unlike(facts.breakdown, facts.steps.median_ms)


def _sentence(facts: Facts, calls: tuple[CollectiveCall, ...]) -> str:
    """What a step communicates, as HTML."""
    moved = facts.communication.collective_bytes
    if not calls and facts.is_imported:
        why = facts.communication.why_no_bytes or NO_COLLECTIVE
        return f"{as_html(why[0].upper() + why[1:])}."
    if not calls:
        return "A step contains no collective: nothing is reduced across replicas."
    theirs = [call for call in calls if call.op != LAB_MARKS]
    if not theirs:
        return "A step contains no collective but the one of the lab's timestamps."
    per_step = sum(call.per_step for call in theirs)
    kinds = ", ".join(dict.fromkeys(call.op for call in theirs))
    what = f"<b>{as_html(units.size(moved))}</b>" if moved is not None else "an unknown size"
    times = "1 collective" if round(per_step) == 1 else f"{per_step:.3g} collectives"
    text = f"A step moves {what} in {times} ({as_html(kinds)})"
    if len(theirs) < len(calls):
        text += " and the one of the lab's timestamps"
    wall, transfer = facts.breakdown.mean_ms("wall"), facts.breakdown.mean_ms("transfer")
    wait = facts.breakdown.mean_ms("wait")
    if wall and transfer is not None and facts.lacks_ranks:
        text += (
            f": <b>{as_html(units.share(transfer / wall))}</b> of the step is transfer, or waiting "
            "for ranks that the profile has not"
        )
    elif wall and transfer is not None and wait is not None:
        text += (
            f": <b>{as_html(units.share(transfer / wall))}</b> of the step is transfer, "
            f"<b>{as_html(units.share(wait / wall))}</b> waiting for the last replica"
        )
    return f"{text}."


def _tiles(facts: Facts) -> list[Tile]:
    found = facts.communication
    main, in_steps = found.main, in_unlike_steps(facts)
    return [
        tile_of(exposed(facts)),
        tile_of(traffic(found)),
        _busiest(found),
        number(
            "algbw",
            units.bandwidth(main.algbw_gbps if main else None),
            "derived",
            found.why_no_busbw or "",
            note=f"{calls_note(main)}{in_steps}" if main else "",
        ),
        tile_of(busbw(found, in_steps)),
        _overlap(facts.overlaps),
        number(
            "transfer_bytes",
            units.size(found.transfer_bytes),
            "derived",
            found.why_no_transfers or "",
            note="per step",
        ),
    ]


def _busiest(found: Communication) -> Tile:
    """The answer to `on which link?`, which the matrix below shows in full."""
    source = heaviest_source(found.traffic)
    most = busiest_link(found.traffic, source) if source else None
    if most is None:
        reason = "no bytes between devices are known"
        return number("busiest_link", units.MISSING, None, reason)
    short = short_names((most.send_device, most.recv_device))
    note = f"{short[most.send_device]} to {short[most.recv_device]}, per step"
    if most.num_equal:
        note += f"; as many on {units.counted(most.num_equal, 'other link')}"
    return number("busiest_link", units.size(most.bytes), "derived", note=note)


def _overlap(hidden: tuple[Overlap, ...]) -> Tile:
    known = [item.overlap for item in hidden if item.overlap is not None]
    mean = sum(known) / len(known) if known else None
    return number("overlap", units.share(mean), "derived", "nothing was communicated")


def _without_bytes(facts: Facts) -> str:
    """What timestamps alone say of the communication of a step, as HTML."""
    wall, wait, transfer = map(facts.breakdown.mean_ms, ("wall", "wait", "transfer"))
    if not wall or wait is None:
        return "What a step communicates is not known."
    text = f"Of a step, <b>{as_html(units.share(wait / wall))}</b> is waiting for the last replica"
    if transfer is not None:
        text += f" and <b>{as_html(units.share(transfer / wall))}</b> transfer"
    return f"{text}. How many bytes move is known of captured steps only."


def _show_without_window(opened: OpenRun, facts: Facts) -> None:
    """Marks know who waited; sizes and bandwidths need a capture."""
    if facts.segment.num_replicas == 1:
        _say_one_replica(opened)
        return
    show_sentence(_without_bytes(facts))
    if facts.breakdown.source is not None:
        replicas = facts.breakdown.replicas
        st.header("Wait and transfer per replica")
        chart = wait_and_transfer(
            replica_names(replicas),
            [replica.wait_ms for replica in replicas],
            [replica.transfer_ms for replica in replicas],
            unit="ms per step",
        )
        draw_chart(chart, key="comm_marks", alt="Wait and transfer per replica")
        st.caption("Measured by in-graph timestamps on every step.")
    show_links(opened.ask(links_of, facts.segment.segment))
    reason = facts.communication.reason
    if reason == LOST:
        empty(f"No collective can be read: {reason}.", "Record the run again.")
        return
    is_over = opened.profile.status.is_over
    empty(
        f"No collective was captured: {reason}.",
        "Record a longer run, or capture every step (in the Lab under Capture; --set "
        "capture.every_step=true): bytes, bandwidths and "
        "transfers come from capture windows."
        if is_over
        else "The first capture window has not been recorded yet.",
    )


def _say_one_replica(opened: OpenRun) -> None:
    if opened.profile.is_imported:
        why = opened.profile.unknown.get("collectives", NO_COLLECTIVE)
        empty(f"{why[0].upper()}{why[1:]}.", "Import a profile of several devices.")
        return
    empty(
        "One replica: nothing to communicate.",
        "Run a strategy with several replicas, e.g. mirrored on cpu:4.",
        page="lab",
        link="Open the Lab",
    )


page()
