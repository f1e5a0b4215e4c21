"""What NVIDIA's management library says of the machine's GPUs; needs no TensorFlow.

By the optional package `nvidia-ml-py`. A fact that a card or a driver does not tell is None. NVML
counts all cards of the machine by their place on the bus, TensorFlow those that
CUDA_VISIBLE_DEVICES lists, the fastest first: NVML's card 0 need not be GPU:0. Not run on a GPU.

`python -m strategy_core.runtime.nvml` prints the state of each card in words, one a line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

NOT_INSTALLED = "the package nvidia-ml-py is not installed"
_SM_CLOCK = 1
"""`NVML_CLOCK_SM`: the multiprocessors' clock."""
_REASONS = {
    0x2: "a clock that was set",
    0x4: "the power limit",
    0x8: "the hardware (power or temperature)",
    0x20: "the temperature",
    0x40: "the temperature",
    0x80: "the power supply",
}
"""Bits of `nvmlDeviceGetCurrentClocksEventReasons` that lower the clock of a busy card."""


@dataclass(frozen=True, slots=True)
class Card:
    """A physical GPU as NVML sees it now."""

    model: str | None
    bus: str | None
    """Address on the PCI bus."""
    driver: str | None
    compute_capability: str | None
    """`9.0`"""
    memory_bytes: int | None
    used_bytes: int | None
    """By all processes."""
    clock_mhz: int | None
    max_clock_mhz: int | None
    power_w: float | None
    max_power_w: float | None
    busy: float | None
    """Share of the last moments in which a kernel ran."""
    slowed_by: tuple[str, ...] | None
    """What lowers its clock now."""
    num_processes: int | None
    """Processes that compute on it."""


def cards(load: Callable[[str], Any] = importlib.import_module) -> tuple[Card, ...] | str:
    """Return the machine's cards, or why they are not known; `load` imports a module."""
    try:
        nvml = load("pynvml")
    except ImportError:
        return NOT_INSTALLED
    try:
        nvml.nvmlInit()
    except Exception as error:  # of NVML: no driver, no permission, another version
        return f"NVML does not start: {error}"
    try:
        driver = _text(_answer_of(nvml.nvmlSystemGetDriverVersion))
        return tuple(
            _card(nvml, nvml.nvmlDeviceGetHandleByIndex(index), driver)
            for index in range(nvml.nvmlDeviceGetCount())
        )
    except Exception as error:
        return f"NVML does not list the cards: {error}"
    finally:
        with suppress(Exception):
            nvml.nvmlShutdown()


def state_of(card: Card) -> str:
    """Return model, bus, memory, clock, power and load of a card, as far as they are known."""
    parts = [
        card.model,
        card.bus and f"bus {card.bus}",
        card.compute_capability and f"compute capability {card.compute_capability}",
        _of(card.used_bytes, card.memory_bytes, 1 << 30, "GiB of memory used"),
        _of(card.clock_mhz, card.max_clock_mhz, 1, "MHz"),
        _of(card.power_w, card.max_power_w, 1, "W"),
        None if card.busy is None else f"{card.busy:.0%} busy",
        card.num_processes and f"{card.num_processes} processes compute on it",
        card.slowed_by and f"slowed by {' and '.join(card.slowed_by)}",
    ]
    return ", ".join(part for part in parts if part)


def _of(value: float | None, most: float | None, unit: float, name: str) -> str | None:
    if value is None:
        return None
    return f"{value / unit:.0f}{'' if most is None else f' of {most / unit:.0f}'} {name}"


def _card(nvml: Any, handle: Any, driver: str | None) -> Card:
    def answer(name: str, *more: Any) -> Any:
        return _answer_of(getattr(nvml, name, None), handle, *more)

    memory, capability = (
        answer("nvmlDeviceGetMemoryInfo"),
        answer("nvmlDeviceGetCudaComputeCapability"),
    )
    bus, used = answer("nvmlDeviceGetPciInfo"), answer("nvmlDeviceGetUtilizationRates")
    power, limit = answer("nvmlDeviceGetPowerUsage"), answer("nvmlDeviceGetEnforcedPowerLimit")
    processes = answer("nvmlDeviceGetComputeRunningProcesses")
    reasons = answer("nvmlDeviceGetCurrentClocksEventReasons")
    if reasons is None:  # its name before 2023
        reasons = answer("nvmlDeviceGetCurrentClocksThrottleReasons")
    return Card(
        model=_text(answer("nvmlDeviceGetName")),
        bus=_text(getattr(bus, "busId", None)),
        driver=driver,
        compute_capability=None if capability is None else ".".join(map(str, capability)),
        memory_bytes=getattr(memory, "total", None),
        used_bytes=getattr(memory, "used", None),
        clock_mhz=answer("nvmlDeviceGetClockInfo", _SM_CLOCK),
        max_clock_mhz=answer("nvmlDeviceGetMaxClockInfo", _SM_CLOCK),
        power_w=None if power is None else power / 1000,
        max_power_w=None if limit is None else limit / 1000,
        busy=None if used is None else used.gpu / 100,
        slowed_by=None if reasons is None else _slowed_by(reasons),
        num_processes=None if processes is None else len(processes),
    )


def _slowed_by(reasons: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for bit, word in _REASONS.items() if reasons & bit))


def _answer_of(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """Return what NVML answers; None if this card, driver or version of the package cannot."""
    if function is None:
        return None
    try:
        return function(*arguments)
    except Exception:  # NVML has a class of errors per code; none may end a run
        return None


def _text(value: str | bytes | None) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


if __name__ == "__main__":
    found = cards()
    for card in () if isinstance(found, str) else found:
        print(state_of(card))
