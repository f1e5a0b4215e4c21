"""Memory of each device, or of the process where a device keeps no count."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from profiles import units
from profiles.analysis.memory import DeviceMemory, memory_use
from profiles.columns import floats, ints
from profiles.exports.report.envelope import series
from profiles.exports.report.facts import RunFacts
from profiles.exports.report.markup import join
from profiles.exports.report.section import Section, chart, formulas, name, note, quantity, table
from profiles.palette import replica_colour

MAX_POINTS = 600
MAX_LINES = 16


def memory(facts: RunFacts) -> Section | None:
    """None for a run without a segment; one without samples says so."""
    if not facts.segments:
        return None
    used = memory_use(facts.profile)
    if not used:
        return Section("memory", "Memory", note("Unavailable: no memory was sampled in this run."))
    samples = facts.profile.table("memory")
    lines = [
        {
            "label": f"{facts.device(item.device)} (worker {item.worker})",
            "colour": replica_colour(index),
            **_line(samples, item),
        }
        for index, item in enumerate(used[:MAX_LINES])
    ]
    drawn: dict[str, Any] = {
        "memory": {
            "x_label": "step",
            "y_label": "in use",
            "unit": "bytes",
            "from_zero": True,
            "series": lines,
        }
    }
    body = join(
        chart("memory", "Memory in use over steps"),
        note(f"The first {MAX_LINES} of {len(used)}.") if len(used) > MAX_LINES else None,
        _table(facts, used),
        formulas("bytes_in_use", "peak_bytes"),
    )
    return Section("memory", "Memory", body, drawn)


def _line(samples: pa.Table, item: DeviceMemory) -> dict[str, Any]:
    own = samples.filter(
        pc.and_(
            pc.and_(
                pc.equal(samples["worker"], item.worker), pc.equal(samples["device"], item.device)
            ),
            pc.equal(samples["source"], item.source),
        )
    )
    return series(ints(own, "step"), floats(own, "bytes_in_use"), max_points=MAX_POINTS)


def _table(facts: RunFacts, used: tuple[DeviceMemory, ...]) -> Any:
    rows = [
        (
            name(facts.device(item.device)),
            str(item.worker),
            quantity(units.size(item.last_bytes), item.last_bytes),
            quantity(units.size(item.peak_bytes), item.peak_bytes),
            quantity(units.size(item.growth_bytes_per_step), item.growth_bytes_per_step),
            "keeps growing" if item.is_growing else "steady",
            item.source,
        )
        for item in used
    ]
    heads = (
        "Device",
        "Worker",
        ("In use at the end", "bytes_in_use"),
        ("Peak", "peak_bytes"),
        "Growth per step",
        "Trend",
        "Counted by",
    )
    return table("Memory over the whole run", heads, rows)
