"""Axes of a sweep as combinations: what runs, what is left out and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep.axes import combine, default_axes, read_axes

CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "")
GPUS = Inventory(
    (*CPU.physical, *(PhysicalDevice("GPU", f"/physical_device:GPU:{n}") for n in range(2))), ""
)
BASE = RunSpec(devices="cpu:2", workload="digits-mlp", global_batch_size=64)


def labels(base: RunSpec, *texts: str, inventory: Inventory = CPU) -> list[str]:
    combined = combine(base, read_axes(texts), inventory)
    return [item.label for item in combined.configurations]


def reasons(base: RunSpec, *texts: str, inventory: Inventory = CPU) -> dict[str, str]:
    combined = combine(base, read_axes(texts), inventory)
    return {item.label: item.reason for item in combined.left_out}


def test_texts_and_files_are_axes_under_short_names(tmp_path: Path) -> None:
    file = tmp_path / "axes.yaml"
    file.write_text("algorithm: [auto, hierarchical-copy]\npacks: 2\n")
    assert read_axes(["devices=1,2,2,cpu:4", "batch=64,128", str(file)]) == {
        "devices": [1, 2, "cpu:4"],
        "global_batch_size": [64, 128],
        "cross_device_ops": ["auto", "hierarchical-copy"],
        "num_packs": [2],
    }


def test_every_combination_that_can_run_is_a_configuration() -> None:
    combined = combine(BASE, read_axes(["devices=1,2", "batch=64,128"]), CPU)
    assert [item.label for item in combined.configurations] == [
        "1 device batch 64",
        "1 device batch 128",
        "2 devices batch 64",
        "2 devices batch 128",
    ]
    assert combined.reference == 2
    assert not combined.left_out


def test_the_base_is_added_if_the_axes_do_not_have_it() -> None:
    combined = combine(BASE, read_axes(["batch=128,256"]), CPU)
    assert combined.configurations[combined.reference].label == "batch 64"
    assert combined.configurations[combined.reference].changes == {}


def test_the_added_base_is_named_as_the_others_are() -> None:
    assert labels(BASE, "devices=1,2", "batch=128")[-1] == "2 devices batch 64"
    assert labels(BASE.with_changes({"devices": "cpu:0,cpu:1"}), "devices=1,4") == [
        "1 device",
        "4 devices",
        "cpu:0,cpu:1",
    ]
    workers = {"strategy": "multi-worker-mirrored", "devices": "cpu:1", "workers": 2}
    assert labels(BASE.with_changes(workers), "devices=1,4")[-1] == "2 devices"


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "true"])
def test_a_number_of_devices_is_a_whole_number_from_1(value: str) -> None:
    with pytest.raises(SpecError, match="is not a number of devices"):
        combine(BASE, read_axes([f"devices={value},2"]), CPU)


def test_common_fields_are_not_in_the_names_of_configurations() -> None:
    own = ("strategy=mirrored", "devices=2", "batch=64", "loop=custom,fit")
    assert labels(BASE, *own) == ["loop custom", "loop fit"]
    other = ("devices=1", "batch=64", "loop=custom,fit")
    assert labels(BASE, *other) == [
        "1 device loop custom",
        "1 device loop fit",
        "2 devices loop custom",
    ]


def test_auto_is_named_by_its_resolved_value() -> None:
    base = BASE.with_changes({"devices": "auto"})
    assert labels(base, "devices=1,2") == ["1 device", "2 devices", "4 devices"]
    assert labels(base, "devices=1,4") == ["1 device", "4 devices"]


def test_impossible_combinations_are_left_out_with_the_reason_of_validation() -> None:
    refusals = reasons(BASE, "devices=2,3", "batch=64", "algorithm=auto,hierarchical-copy")
    assert "cannot be shared equally among 3 replicas" in refusals["3 devices auto"]
    refusals = reasons(BASE, "strategy=mirrored,one-device", "devices=1,2")
    assert refusals == {
        "one-device 2 devices": "one-device uses a single device, not devices='cpu:2'"
    }
    refusals = reasons(BASE, "devices=cpu:1,cpu:2,gpu:2")
    assert "needs a GPU" in refusals["gpu:2"]


def test_equal_configurations_are_not_run_twice() -> None:
    refusals = reasons(BASE, "algorithm=auto,collective-ring,hierarchical-copy")
    assert refusals == {"collective-ring": "it is the same as auto here"}
    refusals = reasons(
        BASE, "strategy=mirrored,one-device", "devices=1", "algorithm=auto,hierarchical-copy"
    )
    assert "no effect under one-device" in refusals["one-device 1 device hierarchical-copy"]


def test_packs_without_effect_are_left_out() -> None:
    refusals = reasons(BASE, "algorithm=auto,hierarchical-copy", "packs=1,4")
    assert "no effect" in refusals["auto packs 4"]


def test_a_number_of_devices_is_that_of_replicas() -> None:
    combined = combine(
        BASE, read_axes(["strategy=mirrored,multi-worker-mirrored", "devices=1,2"]), CPU
    )
    changes = {item.label: item.changes for item in combined.configurations}
    assert changes["multi-worker-mirrored 2 devices"]["workers"] == 2
    assert changes["multi-worker-mirrored 2 devices"]["devices"] == "cpu:1"
    assert changes["mirrored 2 devices"]["devices"] == "cpu:2"
    on_gpus = combine(RunSpec(), read_axes(["devices=1,2"]), GPUS)
    assert [item.changes["devices"] for item in on_gpus.configurations] == ["gpu:1", "gpu:2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense=1,2", "nonsense"),
        ("batch=0,64", "global_batch_size"),
        ("strategy=mirrored,nonsense", "no strategy 'nonsense'"),
        ("steps=10,20", "cannot be swept"),
        ("devices=[", "not YAML"),
        ("devices=", "'devices=' names no value"),
        ("no-such-file.yaml", "does not exist"),
        ("batch=64", "nothing to compare"),
    ],
)
def test_wrong_axes_are_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        combine(BASE, read_axes([text]), CPU)


def test_a_field_twice_and_too_many_values_are_refused() -> None:
    with pytest.raises(SpecError, match="twice"):
        read_axes(["batch=64", "global_batch=128"])
    many = ",".join(str(number) for number in range(1, 90))
    with pytest.raises(SpecError, match="too many"):
        combine(BASE, read_axes([f"batch={many}", f"devices={many}"]), CPU)


def test_the_default_axes_fit_the_machine() -> None:
    axes = default_axes(BASE, CPU)
    assert {"mirrored", "one-device", "central-storage"} <= set(axes["strategy"])
    assert not {"tpu", "multi-worker-mirrored", "parameter-server"} & set(axes["strategy"])
    assert axes["global_batch_size"] == [64, 256]
    assert default_axes(BASE, GPUS)["devices"] == [1, 2]
    assert len(combine(BASE, axes, CPU).configurations) > 5
