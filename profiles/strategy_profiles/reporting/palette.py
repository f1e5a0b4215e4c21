"""The colours of data, for page, live view, timeline and report; JavaScript gets them from here.

What stands side by side has no colour in common: phases are blue, red, orange, teal, green and
grey; the first six replicas are purple and pink; runs and the sides of a comparison are muted
tones; devices are very dark and very light. All but those of devices have a contrast of 3:1 (WCAG
2.2, 1.4.11) to the light and the dark ground. They come from a search over sRGB for the largest
distances, also as people with deuteranopia and protanopia see them; the limits are in
`tests/profiles/reporting/test_palette.py`. The first four replicas are farther apart than the rest,
because most runs have no more, and the first six than the ten after them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

PHASE_COLOURS = {
    "compute": "#008CFA",
    "delay": "#DC1414",
    "wait": "#DC6E00",
    "transfer": "#5096AA",
    "input": "#14A064",
    "idle": "#6E6E6E",
}

PHASE_NAMES = {"delay": "injected delay"}
"""The text for readers, if it is not the key of `schema.CATEGORIES`."""

SPAN_COLOURS = {
    **{name: colour for name, colour in PHASE_COLOURS.items() if name != "idle"},
    "other": PHASE_COLOURS["idle"],
}
"""Colour by category of a span (`schema.TABLES["spans"]`); `other` for those not listed."""

SERVING_COLOURS = {
    "input": PHASE_COLOURS["input"],
    "pull": PHASE_COLOURS["transfer"],
    "compute": PHASE_COLOURS["compute"],
    "delay": PHASE_COLOURS["delay"],
    "push": "#60721E",
}
"""Colour by part of a step whose variables are on parameter servers."""

PART_COLOURS = {**PHASE_COLOURS, **SERVING_COLOURS}
"""Colour by part of any step."""

REPLICA_COLOURS = (
    *("#7846FA", "#FA28AA", "#9678D2", "#B428B4", "#C85AFA", "#5A64C8", "#906050", "#E86060"),
    *("#D81890", "#C07888", "#C000D0", "#5088B8", "#E848C8", "#5860E0", "#189070", "#8870E0"),
)

SIDE_COLOURS = {"A": "#6E78A0", "B": "#827846"}
"""The two sides of a comparison."""
SERIES_COLOUR = SIDE_COLOURS["A"]
"""A chart's only line."""

RUN_COLOURS = ("#5A9687", "#696987", "#78962D")
"""Runs in one chart. Three only: no fourth is as far from the phases and replicas and reads on both
grounds. A run after the third has another dash."""

OTHER_COLOURS = (*RUN_COLOURS, *SIDE_COLOURS.values())
"""Parts of the loop that are no phases."""

DEVICE_COLOURS = ("#0F4B69", "#F0DC50", "#87000F", "#A5B4FF", "#C3B487", "#78F0C3")
"""Devices, where no replica is meant. Outlined in `GREY`, which has the contrast."""
GREY = "#7F8790"
"""A grey that reads on a light and on a dark ground: for what is neither phase nor replica."""


def part_colours(kinds: Mapping[str, int]) -> dict[str, str]:
    """The colours of the parts of one loop by their kinds, each with its number among all kinds.

    A phase has its own, and what is left over is grey. Another part has always the same colour, one
    that no phase has, unless a part before it has that one.
    """
    colours: dict[str, str] = {}
    free: list[str] = []
    for kind, number in kinds.items():
        if kind in ("rest", "others"):
            colours[kind] = GREY
        elif kind in PHASE_COLOURS:
            colours[kind] = PHASE_COLOURS[kind]
        else:
            free = free or [*OTHER_COLOURS]
            usual = OTHER_COLOURS[number % len(OTHER_COLOURS)]
            colours[kind] = usual if usual in free else free[0]
            free.remove(colours[kind])
    return colours


def phase_name(key: str) -> str:
    """The words for a phase, given as in `schema.CATEGORIES`."""
    return PHASE_NAMES.get(key, key)


def luminance(colour: str) -> float:
    """The relative luminance of `#RRGGBB`, as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ink_on(colour: str) -> str:
    """White or black, whichever has more contrast to `#RRGGBB`: at least 4.58."""
    light = luminance(colour) + 0.05
    return "#FFFFFF" if 1.05 / light > light / 0.05 else "#000000"


def replica_colour(replica: int) -> str:
    """The colour of a replica; they repeat after 16, where a label must tell them apart."""
    return REPLICA_COLOURS[replica % len(REPLICA_COLOURS)]


def run_colour(number: int) -> str:
    """The colour of a run by its position in a chart; three colours, then another dash."""
    return RUN_COLOURS[number % len(RUN_COLOURS)]


def device_colour(number: int) -> str:
    """The colour of a run's device by its position; they repeat after six."""
    return DEVICE_COLOURS[number % len(DEVICE_COLOURS)]


def device_colours(numbers: Collection[int]) -> list[str]:
    """The colours of a chart's devices by position; a line that is alone needs none of its own.

    With more devices than colours, two positions have the same one: the second takes a free one.
    """
    if len(numbers) == 1:
        return [SERIES_COLOUR]
    colours: list[str] = []
    for number in numbers:
        colour = device_colour(number)
        free = [each for each in DEVICE_COLOURS if each not in colours]
        colours.append(free[0] if colour in colours and free else colour)
    return colours
