"""Delays of a run that goes on: a slider acts as soon as it is let go, and no move of it is lost.

A move that comes while the run is busy with a change is a wish: the slider shows it, the newest one
replaces those before, and it is sent once the run has answered. Then the sliders show what is in
force again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from strategy_core.planning.reconfiguration import changed_spec
from strategy_lab.app.control.controls import Controls
from strategy_lab.app.forms.delay_picker import (
    Place,
    as_field,
    by_place,
    num_replicas,
    pick_delays,
)
from strategy_lab.app.widgets.text import as_markdown
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.reporting.spec_changes import describe
from strategy_lab.profiles.spec.run_spec import parse_spec


@dataclass
class Wishes:
    """What the sliders of one run were moved to, until the run has answered."""

    ms_by_place: dict[Place, float] = field(default_factory=dict)
    asked: dict[Place, float] = field(default_factory=dict)
    """Delays that were sent to the run and not answered yet."""

    def note(self, slider: str, place: Place) -> None:
        """Keep the value of a moved slider now, before the script draws the slider again."""
        self.ms_by_place[place] = float(st.session_state[slider])

    def answered(self) -> None:
        """Drop the delays that the run has applied or rejected, unless changed since."""
        asked, self.asked = self.asked, {}
        self.ms_by_place = {
            place: ms for place, ms in self.ms_by_place.items() if asked.get(place) != ms
        }

    def over(self, in_force: Mapping[Place, float], places: set[Place]) -> dict[Place, float]:
        """The delays as they are wished, else in force, of the replicas that are there."""
        both = {**in_force, **self.ms_by_place}
        return {place: ms for place, ms in both.items() if place in places}


def live_delays(
    applied: Mapping[str, Any], handle: Controls, sent: dict[int, str], *, is_waiting: bool
) -> None:
    """Draw the sliders, and send what they were moved to unless the run still owes an answer."""
    st.markdown("#### Slow a replica down")
    run = handle.folder.name
    wishes: Wishes = st.session_state.setdefault(f"delays_{run}", Wishes())
    num_workers, count = int(applied.get("workers") or 1), num_replicas(applied)
    places = {divmod(replica, max(1, count // num_workers)) for replica in range(count)}
    in_force = by_place(applied.get("inject") or ())
    if not is_waiting:
        wishes.answered()
    wanted_ms = wishes.over(in_force, places)
    pick_delays(
        count,
        key=f"live_{run}",
        strategy=str(applied.get("strategy")),
        num_workers=num_workers,
        shown_ms=wanted_ms,
        on_move=wishes.note,
    )
    wanted = as_field(wanted_ms)
    if is_waiting or wanted == as_field(in_force):
        return
    after = dict(applied) | {"inject": wanted}
    try:
        changed_spec(parse_spec(applied), {"inject": wanted}, handle.step or 0)
        sent[handle.reconfigure({"inject": wanted})] = ", ".join(describe(applied, after))
    except LabError as error:
        wishes.ms_by_place.clear()
        st.error(as_markdown(error))
        return
    wishes.asked = dict(wishes.ms_by_place)
    st.rerun()
