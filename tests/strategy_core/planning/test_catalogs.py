"""What is offered where, decided without TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strategy_core.cluster.discovery.task_address import strategy_in_cluster
from strategy_core.planning import (
    collective_algorithms,
    strategy_catalog,
    validation,
    workload_catalog,
)
from strategy_core.planning.device_plan import plan
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.reconfiguration import changed_spec
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.spec.run_spec import RunSpec
from tests.own_strategies import installed

LAPTOP = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "2.21.0")
TWO_CARDS = Inventory(
    (
        *LAPTOP.physical,
        PhysicalDevice("GPU", "/physical_device:GPU:0"),
        PhysicalDevice("GPU", "/physical_device:GPU:1"),
    ),
    "2.21.0",
)


def test_every_strategy_of_the_contract_has_a_row_and_says_why_it_is_not_there() -> None:
    offers = strategy_catalog.offers(LAPTOP)
    assert [offer.row.name for offer in offers] == [
        "default",
        "one-device",
        "mirrored",
        "central-storage",
        "multi-worker-mirrored",
        "parameter-server",
        "tpu",
    ]
    available = {offer.row.name for offer in offers if offer.available}
    assert {"default", "one-device", "mirrored", "central-storage"} <= available
    for offer in offers:
        assert offer.row.link.startswith("https://www.tensorflow.org/")
        assert offer.available or len(offer.reason or "") > 20


def test_a_strategy_is_its_file_which_is_read_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "cards_alone.py"
    file.write_text(
        '"""What it does,\nin a sentence.\n\nMore."""\n'
        'TITLE, OTHER = "no", 1\n'
        'TITLE = "CardsAlone"\nNEEDS = "a card"\nLINK = "https://x"\nPLACE = 9\n'
        'KINDS = ("GPU",)\nraise SystemExit("run")\n'
    )
    row = strategy_catalog.read_row(file)
    assert (row.name, row.title) == ("cards-alone", "CardsAlone")
    assert row.explanation == "What it does, in a sentence."
    assert strategy_catalog.why_not(row, TWO_CARDS) is None
    assert strategy_catalog.why_not(row, LAPTOP) == "it needs a card, and this machine has no GPU"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('RUNS_IN = "two"', "Invalid enum value 'two'"),
        ("PLACE = 'left'", "Expected `int`"),
        ("NEEDS = some()", "malformed node"),
        ("class", "invalid syntax"),
    ],
)
def test_a_card_that_cannot_be_read_is_named(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f'TITLE = NEEDS = LINK = "x"\nPLACE = 1\n{line}\n')
    with pytest.raises(LabError, match=rf"mine\.py cannot be read: .*{reason}"):
        strategy_catalog.read_row(file)


def test_workers_pack_gradients_by_size_with_each_algorithm() -> None:
    spec = {"strategy": "multi-worker-mirrored", "workers": 2, "devices": "gpu:1"}
    nccl = RunSpec.model_validate(spec | {"cross_device_ops": "nccl"})
    validation.check(nccl.with_changes({"bytes_per_pack": 9}), TWO_CARDS)
    with pytest.raises(SpecError, match="num_packs=2 has no effect"):
        validation.check(nccl.with_changes({"num_packs": 2}), TWO_CARDS)


@pytest.mark.parametrize("folder", ["/nowhere/at-all", "strategy_core"])
def test_a_folder_of_strategies_that_is_not_there_is_named(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(strategy_catalog.OWN_FOLDER, folder)
    with pytest.raises(LabError, match=f"STRATEGY_LAB_STRATEGIES={folder} is not the absolute"):
        strategy_catalog.folders()


def test_traits_of_a_row_go_together() -> None:
    for row in strategy_catalog.rows():
        assert row.has_choice == (not row.no_choice)
        assert not row.has_servers or (row.has_coordinator and row.runs_in == "several")
        assert not row.has_coordinator or row.runs_in != "one"
        assert not row.has_one_replica or row.runs_in == "one"


def test_a_cluster_keeps_an_own_strategy_that_runs_in_it(tmp_path: Path) -> None:
    with installed(tmp_path / "strategies"):
        assert strategy_in_cluster("ring-of-workers", has_servers=False) == "ring-of-workers"
        assert strategy_in_cluster("ring-of-workers", has_servers=True) == "parameter-server"
        assert strategy_in_cluster("sum-on-cpu", has_servers=False) == "multi-worker-mirrored"


def test_a_strategy_that_there_is_none_of_is_refused_with_those_that_there_are() -> None:
    refusal = r"'mirrord'.*Choose one of default, one-device, mirrored"
    with pytest.raises(SpecError, match=refusal):
        validation.check(RunSpec(strategy="mirrord"))
    with pytest.raises(SpecError, match=refusal):
        changed_spec(RunSpec(), {"strategy": "mirrord"}, 1)


@pytest.mark.parametrize(
    ("devices", "inventory", "names"),
    [
        ("auto", LAPTOP, ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]),
        ("auto", TWO_CARDS, ["GPU:0", "GPU:1"]),
        ("cpu:2", TWO_CARDS, ["CPU:0", "CPU:1"]),
        ("cpu:5,cpu:1", LAPTOP, ["CPU:5", "CPU:1"]),
        ("gpu:1,gpu:0", TWO_CARDS, ["GPU:1", "GPU:0"]),
    ],
)
def test_a_devices_field_chooses_devices_by_name(
    devices: str, inventory: Inventory, names: list[str]
) -> None:
    device_names = plan(RunSpec(devices=devices), inventory).names
    assert [name.partition("device:")[2] for name in device_names] == names


def test_the_default_strategy_is_one_replica_whatever_devices_there_are() -> None:
    planned = plan(RunSpec(strategy="default", devices="cpu:4"), LAPTOP)
    assert planned.num_replicas == 1
    assert [name.partition("device:")[2] for name in planned.names] == ["CPU:0"]


@pytest.mark.parametrize(
    ("fields", "inventory", "rule"),
    [
        ({"devices": "gpu:2"}, LAPTOP, "devices='gpu:.' needs a GPU .*; this machine has none"),
        (
            {"devices": "gpu:1", "strategy": "default"},
            LAPTOP,
            "devices='gpu:.' needs a GPU .*; this machine has none",
        ),
        ({"devices": "cpu:1", "strategy": "default"}, TWO_CARDS, "on the first GPU"),
        ({"devices": "cpu:3,cpu:2", "strategy": "default"}, LAPTOP, "on the first CPU"),
        ({"devices": "gpu:4"}, TWO_CARDS, "this machine has 2"),
        (
            {"devices": "cpu:2", "cross_device_ops": "nccl"},
            TWO_CARDS,
            "NCCL works on GPUs only, not on devices='cpu:2'",
        ),
        (
            {"devices": "gpu:4", "gpu_memory_mb": 1024, "cross_device_ops": "nccl"},
            TWO_CARDS,
            "here 2 logical GPUs share one",
        ),
        (
            {"devices": "cpu:4", "num_packs": 2},
            LAPTOP,
            "num_packs=2 has no effect with collective-ring",
        ),
        (
            {
                "devices": "cpu:4",
                "bytes_per_pack": 9,
                "cross_device_ops": "reduction-to-one-device",
            },
            LAPTOP,
            "bytes_per_pack=9 has no effect with reduction-to-one-device",
        ),
        (
            {"devices": "cpu:3", "global_batch_size": 3, "cross_device_ops": "hierarchical-copy"},
            LAPTOP,
            "an even number of devices, not 3",
        ),
    ],
)
def test_a_spec_that_cannot_run_is_refused_with_the_reason(
    fields: dict[str, object], inventory: Inventory, rule: str
) -> None:
    spec = RunSpec.model_validate(fields)
    with pytest.raises(SpecError, match=rule):
        collective_algorithms.decide(spec, plan(spec, inventory))


def test_logical_gpus_that_share_a_card_go_around_a_ring_and_say_why() -> None:
    spec = RunSpec(devices="gpu:4", gpu_memory_mb=1024)
    decided = collective_algorithms.decide(spec, plan(spec, TWO_CARDS))
    assert decided.name == "collective-ring"
    assert "NCCL needs one per rank" in (decided.note or "")
    whole = RunSpec(devices="gpu:2")
    assert collective_algorithms.decide(whole, plan(whole, TWO_CARDS)).name == "nccl"


def test_workers_on_gpus_go_around_a_ring_unless_nccl_is_asked_for() -> None:
    """TensorFlow's AUTO takes NCCL in MirroredStrategy alone."""
    two = {"strategy": "multi-worker-mirrored", "workers": 2, "devices": "gpu:1"}
    spec = RunSpec.model_validate(two)
    decided = collective_algorithms.decide(spec, plan(spec, TWO_CARDS))
    assert (decided.name, decided.is_tensorflows_choice) == ("collective-ring", True)
    assert "cross_device_ops=nccl" in (decided.note or "")
    nccl = spec.with_changes({"cross_device_ops": "nccl"})
    assert collective_algorithms.decide(nccl, plan(nccl, TWO_CARDS)).name == "nccl"


def test_knobs_that_change_nothing_under_a_strategy_are_noted() -> None:
    spec = RunSpec(strategy="central-storage", devices="cpu:2", cross_device_ops="collective-ring")
    decided = collective_algorithms.decide(spec, plan(spec, LAPTOP))
    assert decided.name == "reduction-to-one-device"
    assert "cross_device_ops has no effect" in (decided.note or "")


def test_listing_strategies_and_workloads_imports_no_tensorflow() -> None:
    code = (
        "import sys\n"
        "from strategy_core.planning import collective_algorithms, device_plan, inventory\n"
        "from strategy_core.planning import strategy_catalog, workload_catalog\n"
        "assert len(workload_catalog.available()) >= 6\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_workload_describes_itself_in_one_line() -> None:
    for listed in workload_catalog.available():
        assert listed.description.endswith("."), listed.name


@pytest.mark.run
def test_a_child_process_takes_the_inventory() -> None:
    from strategy_core.planning.inventory import probe

    inventory = probe()
    assert inventory.count("CPU") == 1
    assert Inventory.from_json(inventory.to_json() | {"possibilities": None}) == inventory
    assert probe() is inventory


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"strategy": "tpu", "devices": "cpu:2"}, "XLA compiles every program of a TPU"),
        (
            {"strategy": "parameter-server", "workers": 2, "parameter_servers": 1},
            "pulls and pushes variables",
        ),
        ({"strategy": "central-storage", "devices": "cpu:2"}, "has to join the replicas"),
        ({"loop": "fit", "devices": "cpu:2"}, "does not work with loop=fit on 2 replicas"),
        (
            {"loop": "fit", "devices": "cpu:1", "inject": [{"replica": 0, "ms": 1}]},
            "XLA cannot compile a delay",
        ),
    ],
)
def test_xla_is_refused_where_it_does_not_work(fields: dict[str, object], why: str) -> None:
    with pytest.raises(SpecError, match=why) as refused:
        validation.check(RunSpec.model_validate({**fields, "xla": True}))
    assert refused.value.field == "xla"


@pytest.mark.parametrize("devices", ["cpu:2", "cpu:1,cpu:0"])
def test_several_cpus_of_a_worker_are_refused_before_a_process_starts(devices: str) -> None:
    """TensorFlow runs one replica on the CPU of a worker; no look at the machine tells more."""
    two = {"strategy": "multi-worker-mirrored", "workers": 2, "devices": devices}
    with pytest.raises(SpecError, match="is more than one CPU per worker") as refused:
        validation.check(RunSpec.model_validate(two))
    assert refused.value.field == "devices"
