"""Memory of each device, or of the process if the device does not report it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from strategy_profiles.analysis.memory import DeviceMemory, counted_by, memory_of, memory_use
from strategy_profiles.analysis.memory_spread import FEW, memory_spread
from strategy_profiles.exports.report.answers import answered
from strategy_profiles.exports.report.facts import RunFacts, Section
from strategy_profiles.questions.step_memory import memory_over_step
from strategy_profiles.reporting.downsample import Series, series
from strategy_profiles.reporting.palette import GREY, SERIES_COLOUR, device_colour
from strategy_profiles.tables.columns import Floats, floats

Curve = tuple[Floats, Floats]
MAX_POINTS = 600


def memory(facts: RunFacts) -> Section | None:
    """The memory that processes and accelerators held over the steps: a chart and a table.

    None for a run that never opened a segment. Without samples the section only says so.
    """
    if not facts.segments:
        return None
    used = memory_use(facts.profile)
    if not used:
        return _with_steps(facts, {"used": []}, {})
    names = [memory_of(item.worker, facts.device(item.device), facts.titles) for item in used]
    samples = facts.profile.table("memory")
    curves = [_samples(samples, item) for item in used]
    drawn: dict[str, Any] = {
        "memory": {
            "x_label": "step",
            "y_label": "in use",
            "unit": "bytes",
            "from_zero": True,
            "series": _lines(names, curves) if len(used) <= FEW else _spread(names, curves),
        }
    }
    shown = {
        "used": [
            (whose, item, counted_by(item.source)) for whose, item in zip(names, used, strict=True)
        ],
        "is_spread": len(used) > FEW,
    }
    return _with_steps(facts, shown, drawn)


def _with_steps(facts: RunFacts, shown: dict[str, Any], drawn: dict[str, Any]) -> Section:
    """Add the memory over a captured step of each segment."""
    over_step = answered(facts, "memory", "Memory", memory_over_step)
    return Section("memory", "Memory", {**shown, **over_step.shown}, drawn | over_step.charts)


def _lines(names: list[str], curves: list[Curve]) -> list[Series]:
    if len(names) == 1:
        return [_line(names[0], SERIES_COLOUR, curves[0])]
    return [
        _device_line(name, number, curve)
        for number, (name, curve) in enumerate(zip(names, curves, strict=True))
    ]


def _device_line(name: str, number: int, curve: Curve) -> Series:
    """A line with an outline, because a device's colour may be as dark or as light as the page."""
    return {**_line(name, device_colour(number), curve), "outline": GREY}


def _line(name: str, colour: str, curve: Curve) -> Series:
    return {"label": name, "colour": colour, **series(*curve, max_points=MAX_POINTS)}


def _spread(names: list[str], curves: list[Curve]) -> list[Series]:
    """Return the median with its band, and a separate line for each device with an unusual peak."""
    spread = memory_spread(curves)
    low, middle, high = (
        series(spread.step, values, max_points=MAX_POINTS)
        for values in (spread.low, spread.middle, spread.high)
    )
    band = {"low": low.get("low", low["y"]), "high": high.get("high", high["y"])}
    lines = [{"label": f"median of {len(names)}", "colour": GREY, **middle, **band}]
    if spread.outstanding is not None:
        number = spread.outstanding
        lines.append(_device_line(names[number], number, curves[number]))
    return lines


def _samples(samples: pa.Table, item: DeviceMemory) -> Curve:
    """Return steps and bytes in use of one device."""
    own = samples.filter(
        pc.and_(
            pc.and_(
                pc.equal(samples["worker"], item.worker), pc.equal(samples["device"], item.device)
            ),
            pc.equal(samples["source"], item.source),
        )
    )
    return floats(own, "step"), floats(own, "bytes_in_use")
