"""Delay sliders of a running run: a change is sent when the slider stops moving; none is lost.

Moves made while the run applies a change are pending: the slider shows them, the newest one
replaces those before, and it is sent once the run has answered. Then the sliders show what is in
force again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from strategy_app.components.delays import Moves, Slider, delay_sliders, moves
from strategy_app.control.controls import Controls
from strategy_app.forms.delay_picker import (
    MAX_MS,
    STEP_MS,
    Place,
    as_field,
    by_place,
    labelled,
    num_replicas,
    places,
    say_who_has_none,
)
from strategy_app.widgets.text import as_markdown
from strategy_core.planning.reconfiguration import changed_spec
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.spec_changes import describe
from strategy_profiles.spec.run_spec import parse_spec


@dataclass
class PendingDelays:
    """What the sliders of one run were moved to, until the run has answered."""

    ms_by_place: dict[Place, float] = field(default_factory=dict)
    sent: dict[Place, float] = field(default_factory=dict)
    """Delays that were sent to the run and not answered yet."""
    heard: float = 0.0
    """When the last moves that are known were sent. A rerun may bring back older ones."""

    def note(self, moved: Moves | None, names: Mapping[str, Place]) -> None:
        """Keep what the sliders were moved to, if it is new. `names` are the sliders' names."""
        if moved is None or moved.at <= self.heard:
            return
        self.heard = moved.at
        for name, ms in moved.ms_by_place.items():
            if name in names:
                self.ms_by_place[names[name]] = ms

    def answered(self) -> None:
        """Drop the delays that the run has applied or rejected, unless changed since."""
        sent, self.sent = self.sent, {}
        self.ms_by_place = {
            place: ms for place, ms in self.ms_by_place.items() if sent.get(place) != ms
        }

    def over(self, in_force: Mapping[Place, float], present: set[Place]) -> dict[Place, float]:
        """Return the pending delay of each present replica, otherwise the applied one."""
        both = {**in_force, **self.ms_by_place}
        return {place: ms for place, ms in both.items() if place in present}


def live_delays(
    applied: Mapping[str, Any], handle: Controls, sent: dict[int, str], *, is_waiting: bool
) -> None:
    """Draw the sliders, and send their new values unless a command is still unanswered."""
    st.markdown("#### Slow a replica down")
    run = handle.folder.name
    pending: PendingDelays = st.session_state.setdefault(f"delays_{run}", PendingDelays())
    in_force = by_place(applied.get("inject") or ())
    if not is_waiting:
        pending.answered()
    wanted_ms = _drawn(f"delay_sliders_{run}", applied, in_force, pending)
    wanted = as_field(wanted_ms)
    if is_waiting:
        return
    if wanted == as_field(in_force):
        pending.ms_by_place.clear()  # else a later change by others would be taken back
        return
    after = dict(applied) | {"inject": wanted}
    try:
        changed_spec(parse_spec(applied), {"inject": wanted}, handle.step or 0)
        sent[handle.reconfigure({"inject": wanted})] = ", ".join(describe(applied, after))
    except LabError as error:
        pending.ms_by_place.clear()
        st.error(as_markdown(error))
        return
    pending.sent = dict(pending.ms_by_place)
    st.rerun()


def _drawn(
    key: str, applied: Mapping[str, Any], in_force: Mapping[Place, float], pending: PendingDelays
) -> dict[Place, float]:
    """Draw the sliders, and return the delays that they show, in ms."""
    num_workers = int(applied.get("workers") or 1)
    present = places(num_replicas(applied), num_workers)
    names = {"/".join(map(str, place)): place for place in present}
    pending.note(moves(key), names)
    wanted_ms = pending.over(in_force, set(present))
    sliders = [
        Slider("/".join(map(str, place)), label, int(wanted_ms.get(place, 0)))
        for place, label in labelled(present, str(applied.get("strategy")), num_workers)
    ]
    delay_sliders(key, sliders, heard=pending.heard, max_ms=MAX_MS, step_ms=STEP_MS)
    say_who_has_none(len(present))
    return wanted_ms
