"""What a sentence says about the delays that the lab itself injected."""

from __future__ import annotations

from strategy_lab.profiles.reporting import units


def injected_sentence(delays_ms: dict[int, float]) -> str:
    """`The lab injected 60.0 ms into replica 0 and 30.0 ms into replica 2.`"""
    parts = [f"{units.milliseconds(ms)} into replica {r}" for r, ms in sorted(delays_ms.items())]
    return f"The lab injected {units.listed(parts)}."
