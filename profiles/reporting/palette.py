"""One fixed colour per phase and per replica, the same in the page and in the report.

Okabe and Ito's colour-blind safe set; each phase reads on a light and on a dark ground.
"""

from __future__ import annotations

PHASE_COLOURS = {
    "compute": "#0072B2",
    "wait": "#D55E00",
    "transfer": "#CC79A7",
    "input": "#009E73",
    "idle": "#9AA0A6",
}

SPAN_COLOURS = {
    **{name: PHASE_COLOURS[name] for name in ("compute", "transfer", "input", "wait")},
    # A collective is waiting and transfer in one: neither's colour.
    "collective": "#E69F00",
    "other": PHASE_COLOURS["idle"],
}
"""Colour by category of a span (`schema.TABLES["spans"]`)."""

SERVING_COLOURS = {
    "input": PHASE_COLOURS["input"],
    "pull": PHASE_COLOURS["transfer"],
    "compute": PHASE_COLOURS["compute"],
    "push": "#E69F00",
}
"""Colour by part of a step whose variables are on parameter servers."""

REPLICA_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#B8A800",
    "#8C6BB1",
)


def ink_on(colour: str) -> str:
    """White or a near black: what is easier to read on `#RRGGBB`, by the contrast of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#FFFFFF" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.063 else "#16202B"


def replica_colour(replica: int) -> str:
    """The colour of a replica; they repeat after eight, where a label must tell them apart."""
    return REPLICA_COLOURS[replica % len(REPLICA_COLOURS)]
