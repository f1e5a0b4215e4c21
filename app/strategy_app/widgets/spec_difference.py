"""The differences between the specs of two segments, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.copy_as import offer_copy_of_recorded
from strategy_app.widgets.text import as_html, plain
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

_STYLE = """<style>
.lab-fields {border-collapse:collapse; font-size:.9rem; table-layout:fixed; width:100%}
.lab-fields th, .lab-fields td {padding:.3rem .6rem .3rem 0; text-align:left; vertical-align:top;
  font-weight:400; overflow-wrap:anywhere;
  border-bottom:1px solid color-mix(in srgb, currentColor 16%, transparent)}
.lab-fields thead th {opacity:.75}
.lab-fields .differs {background:rgba(230, 159, 0, .18)}
</style>"""


def show_spec_difference(a: Side, b: Side) -> None:
    """The fields that differ; all of them on request."""
    left, right = (flat(spec_in_force(side)) for side in (a, b))
    fields = [*left, *(name for name in right if name not in left)]
    # The plan of changes belongs to the run: of its segments, only the first one has it.
    is_one_run = a.opened.profile.path == b.opened.profile.path
    same = {"reconfigure"} if is_one_run else set()
    differ = [name for name in fields if left.get(name) != right.get(name) and name not in same]
    st.header("Differences between the specs")
    without = [side.name for side, spec in ((a, left), (b, right)) if not spec]
    if without:
        which = f"Run {without[0]} has no" if len(without) == 1 else "Neither run has a"
        st.markdown(f"{which} recorded spec.")
    with st.container(horizontal=True):
        for side in (a, b):
            if spec := spec_in_force(side):
                offer_copy_of_recorded(spec, f"Copy {side.name} as …")
    if without:
        return
    everything = st.toggle(f"Show all {len(fields)} fields", key="spec_all")
    shown = [*differ, *(name for name in fields if name not in differ)] if everything else differ
    if not shown:
        st.markdown("None: both specs are equal.")
        return
    rows = "".join(
        f"<tr{' class=differs' if everything and name in differ else ''}>"
        f'<th scope="row">{as_html(name, 80)}</th>'
        f"<td>{as_html(left.get(name, units.MISSING))}</td>"
        f"<td>{as_html(right.get(name, units.MISSING))}</td></tr>"
        for name in shown
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Field", "A", "B"))
    st.html(
        f'{_STYLE}<table class="lab-fields"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def spec_in_force(side: Side) -> Mapping[str, Any]:
    """The spec of the segment, else the one the run began with."""
    own = side.segment.spec if side.segment else None
    return own or _asked(side.opened.profile)


def _asked(profile: Profile) -> Mapping[str, Any]:
    return profile.spec or {}


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested fields by dotted path, values as text."""
    found: dict[str, str] = {}
    for name, value in document.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{path}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            found[path] = plain(text, 200)
    return found
