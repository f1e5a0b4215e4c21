"""Which of a machine's eight GPUs a process of a run sees. TensorFlow's configuration is a fake."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from strategy_core.planning.gpu_allocation import LocalRank
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.runtime import logical_devices
from strategy_profiles.spec.run_spec import RunSpec

pytestmark = pytest.mark.tf

GPUS = [f"/physical_device:GPU:{number}" for number in range(8)]


@dataclass
class FakeConfig:
    """`tf.config` of a process on a machine with eight cards."""

    visible: list[str] | None = None
    growing: list[str] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)

    def list_physical_devices(self, kind: str) -> list[str]:
        return GPUS if kind == "GPU" else ["/physical_device:CPU:0"]

    def set_visible_devices(self, devices: list[str], kind: str) -> None:
        assert kind == "GPU"
        self.visible = devices

    def set_logical_device_configuration(self, device: str, parts: list[Any]) -> None:
        self.parts[device] = len(parts)

    @property
    def experimental(self) -> Any:
        return SimpleNamespace(set_memory_growth=lambda gpu, on: on and self.growing.append(gpu))

    threading = SimpleNamespace(set_inter_op_parallelism_threads=lambda _n: None)

    LogicalDeviceConfiguration = staticmethod(lambda **_: object())


def _configured(monkeypatch: pytest.MonkeyPatch, rank: LocalRank | None, **spec: Any) -> FakeConfig:
    physical = [PhysicalDevice("CPU", "cpu"), *(PhysicalDevice("GPU", name) for name in GPUS)]
    fake = FakeConfig()
    monkeypatch.setattr(logical_devices, "tf", SimpleNamespace(config=fake))
    known_devices = Inventory(tuple(physical), "2.21.0")
    monkeypatch.setattr(logical_devices, "inventory", lambda: known_devices)
    logical_devices.create_logical_devices(RunSpec(global_batch_size=64, **spec), rank)
    return fake


@pytest.mark.parametrize(
    ("spec", "rank", "expected"),
    [
        ({"devices": "cpu:4"}, None, []),
        ({"devices": "gpu:1", "strategy": "one-device"}, None, [0]),
        ({"devices": "gpu:2"}, None, [0, 1]),
        ({"devices": "gpu:2,gpu:1"}, None, [0, 1, 2]),
        ({"devices": "auto"}, None, list(range(8))),
        ({"devices": "gpu:2", "workers": 2}, LocalRank(1, 2), [2, 3]),
        ({"devices": "cpu:1", "workers": 2}, LocalRank(0, 2), []),
    ],
)
def test_a_process_sees_the_gpus_of_its_plan(
    monkeypatch: pytest.MonkeyPatch,
    spec: dict[str, Any],
    rank: LocalRank | None,
    expected: list[int],
) -> None:
    chosen = {"strategy": "multi-worker-mirrored" if "workers" in spec else "mirrored"} | spec
    fake = _configured(monkeypatch, rank, **chosen)
    assert fake.visible == [GPUS[number] for number in expected]
    assert fake.growing == fake.visible, "TensorFlow would take all memory of the others"


def test_logical_gpus_of_one_card_hide_the_other_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = _configured(monkeypatch, None, devices="gpu:16", gpu_memory_mb=1000)
    assert fake.visible == GPUS
    assert {fake.parts[gpu] for gpu in GPUS} == {2}
    assert fake.growing == []
