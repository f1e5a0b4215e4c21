"""Numbers as people read them: three significant digits, a unit, and a dash for a missing number.

Sizes count in powers of ten, as bandwidths do: 1 MB is 10^6 bytes, 1 GB/s is 10^9 bytes a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MISSING = "–"
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
AS_FACTOR = 10
"""Changes by more than this many times are written as factors."""


def number(value: float | None, digits: int = 3) -> str:
    """At least `digits` significant digits, thousands apart: `0.0123`, `12.3`, `12,345`.

    Below 0.0001 in powers of ten: `3.68e-05`.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(decimals, 0), 9)}f}"


def rounded(value: float | None) -> float | None:
    """A number for a column of a table: from 100 on a whole one, below with three digits."""
    if value is None or not math.isfinite(value):
        return None
    return float(round(value)) if abs(value) >= 100 else float(f"{value:.3g}")


def milliseconds(value_ms: float | None) -> str:
    """A length in ms with its unit; always ms, so that two of them compare at a glance."""
    return _with_unit(value_ms, "ms")


def seconds(value_s: float | None) -> str:
    """A length of time for people: `850 ms`, `12.3 s`, `2 min 5 s`, `1 h 2 min`."""
    if value_s is None or not math.isfinite(value_s):
        return MISSING
    if value_s < 1:
        return milliseconds(value_s * 1000)
    if value_s < 60:
        return _with_unit(value_s, "s")
    minutes, rest = divmod(round(value_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(num_bytes: float | None) -> str:
    """Bytes with the largest unit that keeps the number above one."""
    if num_bytes is None or not math.isfinite(num_bytes):
        return MISSING
    scale, unit = size_unit(num_bytes)
    return f"{num_bytes:,.0f} B" if unit == "B" else _with_unit(num_bytes / scale, unit)


def size_unit(num_bytes: float) -> tuple[float, str]:
    """The factor and name of the unit that `size` uses for so many bytes, for a whole column."""
    return next((each for each in _SIZES if abs(num_bytes) >= each[0]), (1.0, "B"))


def bandwidth(gb_per_s: float | None) -> str:
    """10^9 bytes a second, as bytes a second with the largest unit that keeps it above one."""
    per_second = size(None if gb_per_s is None else gb_per_s * 1e9)
    return per_second if per_second == MISSING else f"{per_second}/s"


def share(ratio: float | None) -> str:
    """A ratio as per cent; from 1,000 % on to three significant digits."""
    if ratio is None or not math.isfinite(ratio):
        return MISSING
    percent = ratio * 100
    if abs(percent) >= 1000:
        return f"{float(f'{percent:.3g}'):,.0f} %"
    return f"{percent:.0f} %" if percent == 0 or abs(percent) >= 9.95 else f"{percent:.1f} %"


def change(ratio: float) -> str:
    """A change as signed per cent: `+2.5 %`; from 1,000 % on to three significant digits."""
    percent = ratio * 100
    if abs(percent) >= 1000:
        return f"{float(f'{percent:.3g}'):+,.0f} %"
    return f"{percent:+.1f} %"


def change_between(before: float, after: float) -> str:
    """A change as `+4.2 %`, or as a factor if it is more than tenfold: `2,050 times`.

    `before` is not 0, unless both are.
    """
    if before == after:
        return change(0.0)
    ratio = (after - before) / abs(before)
    return f"{after / before:,.0f} times" if abs(ratio) >= AS_FACTOR else change(ratio)


def rate(per_second: float | None, what: str = "") -> str:
    """Return a rate in words: a number of `what` per second."""
    return _with_unit(per_second, f"{what}/s" if what else "/s")


def counted(num: int, what: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{num:,} {what}" if num == 1 else f"{num:,} {what}s"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([*[", ".join(parts[:-1])] * (len(parts) > 1), *parts[-1:]])


def _with_unit(value: float | None, unit: str) -> str:
    text = number(value)
    return text if text == MISSING else f"{text} {unit}"
