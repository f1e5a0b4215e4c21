"""What is refused of a run with parameter servers before anything starts, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_core.planning import strategy_catalog, validation
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec, parse_spec

CPU = PhysicalDevice("CPU", "/physical_device:CPU:0", "")
GPU = PhysicalDevice("GPU", "/physical_device:GPU:0", "")


def spec(**fields: Any) -> RunSpec:
    common = {"strategy": "parameter-server", "workers": 3, "parameter_servers": 1}
    return parse_spec({**common, "workload": "digits-mlp", "global_batch_size": 32, **fields})


def test_parameter_server_runs_on_any_machine_with_a_batch_per_worker() -> None:
    inventory = Inventory((CPU,), "2.21.0")
    assert strategy_catalog.why_not(strategy_catalog.row("parameter-server"), inventory) is None
    validation.check(spec(), inventory)  # 32 examples are no multiple of 3 workers, nor need to be
    validation.check(spec(), Inventory((CPU, GPU), "2.21.0"))


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"parameter_servers": 0}, "at least one parameter server, not parameter_servers=0"),
        ({"loop": "fit"}, "Keras 3 does not support fit under parameter-server"),
        (
            {"strategy": "mirrored", "workers": 1, "parameter_servers": 0}
            | {"parameter_server": {"partitioner": "fixed"}},
            "does not split weights",
        ),
    ],
)
def test_settings_that_parameter_server_does_not_support_are_refused(
    fields: dict[str, Any], rule: str
) -> None:
    with pytest.raises(SpecError, match=rule):
        validation.check(spec(**fields))


def test_parameter_server_workers_on_gpus_are_refused() -> None:
    with pytest.raises(
        SpecError, match="parameter-server runs on CPUs in this lab, not on devices='gpu"
    ):
        validation.check(spec(devices="gpu:1"), Inventory((CPU, GPU), "2.21.0"))
