"""How much memory does each device or process hold over the steps of a run?"""

from __future__ import annotations

from collections.abc import Sequence

from strategy_profiles.analysis.memory import (
    DeviceMemory,
    counted_by,
    memory_of,
    memory_use,
    rows_by_device,
)
from strategy_profiles.analysis.memory_spread import FEW, memory_spread
from strategy_profiles.answers.answer import (
    Answer,
    Column,
    KeyNumber,
    Line,
    Lines,
    Missing,
    Table,
    table,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.palette import GREY, device_colour, device_colours
from strategy_profiles.tables.columns import floats
from strategy_profiles.tables.store import Profile

KEY = "memory"
TITLE = "Memory"


def memory_over_run(profile: Profile) -> Answer:
    """Return the answer for a run: a chart and a table."""
    used = memory_use(profile)
    if not used:
        why = profile.unknown.get("memory", "no device or process was sampled in this run")
        number = KeyNumber("peak_bytes", None, units.MISSING, why, None)
        return Answer(KEY, numbers=(number,), parts=(Missing(KEY, TITLE, why),))
    short, titles = short_names(item.device for item in used), profile.process_titles
    names = [memory_of(item.worker, short[item.device], titles) for item in used]
    peak, whose = max((item.peak_bytes, name) for item, name in zip(used, names, strict=True))
    growing = [name for item, name in zip(used, names, strict=True) if item.is_growing]
    said = f"Memory keeps growing over the run: {units.listed(growing)}."
    return Answer(
        KEY,
        numbers=(KeyNumber("peak_bytes", peak, units.size(peak), whose, "measured"),),
        parts=(_lines(profile, used, names), _table(used, names)),
        warnings=(said,) if growing else (),
        formulas=("bytes_in_use", "peak_bytes"),
    )


def _lines(profile: Profile, used: Sequence[DeviceMemory], names: Sequence[str]) -> Lines:
    """A line for each, in the order of its samples: where a run went back, the line breaks."""
    rows = profile.table("memory")
    step, held = floats(rows, "step"), floats(rows, "bytes_in_use")
    of_each = rows_by_device(rows)
    chosen = [of_each[item.worker, item.device, item.source] for item in used]
    curves = [(step[each], held[each]) for each in chosen]
    if len(names) <= FEW:
        colours = device_colours(range(len(names)))
        named = zip(names, curves, colours, strict=True)
        lines = [Line(name, *curve, colour) for name, curve, colour in named]
    else:
        spread = memory_spread(curves)
        middle = f"median of {len(names)}"
        lines = [Line(middle, spread.step, spread.middle, GREY, spread.low, spread.high)]
        if (index := spread.outstanding) is not None:
            lines.append(Line(names[index], *curves[index], device_colour(index)))
    sources = dict.fromkeys(counted_by(item.source) for item in used)
    notes = [f"Counted by {units.listed(list(sources))}."]
    if len(names) > FEW:
        notes.append(f"The band covers the range of all {len(names)} devices and processes.")
    return Lines(
        KEY,
        "Memory in use",
        tuple(lines),
        "step",
        "in use",
        "bytes",
        is_of_run=True,
        definition="peak_bytes",
        notes=tuple(notes),
    )


def _trend(item: DeviceMemory) -> str | None:
    if item.growth_bytes_per_step is None:
        return None
    return "keeps growing" if item.is_growing else "steady"


def _table(used: Sequence[DeviceMemory], names: Sequence[str]) -> Table:
    of = dict(zip(used, names, strict=True))
    columns = (
        Column("name", "Memory of", "name", value=lambda item: of[item]),
        Column("last_bytes", "In use at the end", "bytes", "bytes_in_use"),
        Column("peak_bytes", "Peak", "bytes", "peak_bytes"),
        Column("growth_bytes_per_step", "Growth per step", "bytes"),
        Column("is_growing", "Trend", value=_trend),
        Column("source", "Counted by", value=lambda item: counted_by(item.source)),
    )
    return table("memory_use", "Memory over the whole run", used, columns, is_detail=True)
