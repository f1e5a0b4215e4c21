# ruff: noqa: N802 -- the names of NVML
"""What NVML says of a card, with a fake of `pynvml`: no GPU is here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from strategy_core.runtime.nvml import NOT_INSTALLED, Card, cards, state_of


class FakeNvml:
    """`pynvml` on a machine with one H100, which its power limit slows down."""

    def nvmlInit(self) -> None: ...

    def nvmlShutdown(self) -> None: ...

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.124.06"  # older versions of the package return bytes

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, _handle: int) -> str:
        return "NVIDIA H100 80GB HBM3"

    def nvmlDeviceGetPciInfo(self, _handle: int) -> Any:
        return SimpleNamespace(busId="00000000:1B:00.0")

    def nvmlDeviceGetMemoryInfo(self, _handle: int) -> Any:
        return SimpleNamespace(total=80 << 30, used=20 << 30)

    def nvmlDeviceGetCudaComputeCapability(self, _handle: int) -> tuple[int, int]:
        return 9, 0

    def nvmlDeviceGetClockInfo(self, _handle: int, clock: int) -> int:
        assert clock == 1
        return 1410

    def nvmlDeviceGetMaxClockInfo(self, _handle: int, clock: int) -> int:
        assert clock == 1
        return 1980

    def nvmlDeviceGetPowerUsage(self, _handle: int) -> int:
        return 698_000

    def nvmlDeviceGetEnforcedPowerLimit(self, _handle: int) -> int:
        return 700_000

    def nvmlDeviceGetUtilizationRates(self, _handle: int) -> Any:
        return SimpleNamespace(gpu=97, memory=40)

    def nvmlDeviceGetCurrentClocksEventReasons(self, _handle: int) -> int:
        return 0x4 | 0x1

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: int) -> list[object]:
        raise RuntimeError("Not Supported")  # as a container without the host's processes


def test_a_card_is_described_as_far_as_it_tells() -> None:
    (card,) = cards(lambda _name: FakeNvml())
    assert card == Card(
        model="NVIDIA H100 80GB HBM3",
        bus="00000000:1B:00.0",
        driver="570.124.06",
        compute_capability="9.0",
        memory_bytes=80 << 30,
        used_bytes=20 << 30,
        clock_mhz=1410,
        max_clock_mhz=1980,
        power_w=698.0,
        max_power_w=700.0,
        busy=0.97,
        slowed_by=("the power limit",),
        num_processes=None,
    )
    assert state_of(card) == (
        "NVIDIA H100 80GB HBM3, bus 00000000:1B:00.0, compute capability 9.0, "
        "20 of 80 GiB of memory used, 1410 of 1980 MHz, 698 of 700 W, 97% busy, "
        "slowed by the power limit"
    )


def test_the_older_name_of_the_clocks_reasons_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FakeNvml, "nvmlDeviceGetCurrentClocksEventReasons")
    old = FakeNvml()
    old.nvmlDeviceGetCurrentClocksThrottleReasons = lambda _handle: 0x60  # type: ignore[attr-defined]
    (card,) = cards(lambda _name: old)
    assert isinstance(card, Card)
    assert card.slowed_by == ("the temperature",)


def test_without_package_or_driver_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    assert cards(absent) == NOT_INSTALLED

    def refused(_nvml: FakeNvml) -> None:
        raise RuntimeError("NVML Shared Library Not Found")

    monkeypatch.setattr(FakeNvml, "nvmlInit", refused)
    answer = cards(lambda _name: FakeNvml())
    assert answer == "NVML does not start: NVML Shared Library Not Found"
