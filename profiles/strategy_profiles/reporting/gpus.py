"""Physical GPUs in words, as far as a run recorded them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import Gpu


def gpu_kinds(gpus: Sequence[Gpu]) -> list[str]:
    """`2 × NVIDIA H100, compute capability 9.0, ...`: equal cards in one text."""
    kinds = Counter(_facts(gpu) for gpu in gpus)
    return [f"{count} × {facts}" for facts, count in kinds.items()]


def gpu_lines(gpus: Sequence[Gpu]) -> tuple[tuple[str, str], ...]:
    """Return label and value as `thread_pools` does; nothing for a run without GPUs."""
    return (("GPUs", "; ".join(gpu_kinds(gpus))),) if gpus else ()


def _facts(gpu: Gpu) -> str:
    facts = [
        gpu.model or "unknown model",
        gpu.compute_capability and f"compute capability {gpu.compute_capability}",
        gpu.driver and f"driver {gpu.driver}",
        gpu.memory_bytes and units.size(gpu.memory_bytes),
        gpu.max_clock_mhz and f"at most {gpu.max_clock_mhz} MHz",
        gpu.max_power_w and f"at most {gpu.max_power_w:.0f} W",
    ]
    return ", ".join(fact for fact in facts if fact)
