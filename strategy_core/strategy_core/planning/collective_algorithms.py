"""How gradients cross devices: the algorithm that a spec asks for, and whether it can run there.

Free of TensorFlow. `strategies.py` builds what is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

from strategy_core.planning import strategy_catalog
from strategy_core.planning.device_plan import DevicePlan
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.text import quoted

PACKED_BY_NUMBER = ("nccl", "hierarchical-copy")
"""Algorithms that put gradients into `num_packs` packs."""
RUNS_ANYWHERE = ("reduction-to-one-device", "collective-ring")
"""Algorithms that need no device of a kind, nor an even number of them."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The decision: `name` is one of the explicit algorithms, or `none` for a single replica."""

    name: str
    is_tensorflows_choice: bool = False
    note: str | None = None
    """What the user should know of the decision."""


def decide(spec: RunSpec, plan: DevicePlan) -> Algorithm:
    """The algorithm of a run; raises SpecError where the one asked for cannot run there."""
    row = strategy_catalog.row(spec.strategy)
    if not row.has_choice:
        return Algorithm(row.algorithms[0], note=_unused(spec, row.no_choice))
    algorithm = _automatic(plan, is_cluster=row.is_cluster(spec.workers))
    if spec.cross_device_ops != "auto":
        algorithm = _asked_for(spec, plan, spec.cross_device_ops)
    elif algorithm.name not in row.algorithms:
        algorithm = _asked_for(spec, plan, row.algorithms[0])
    _check_packs(spec, algorithm, packs_by_size=row.packs_by_size)
    return algorithm


def _automatic(plan: DevicePlan, *, is_cluster: bool) -> Algorithm:
    if plan.shares_gpus:
        return Algorithm(
            "collective-ring",
            is_tensorflows_choice=True,
            note="Replicas share a GPU here, and NCCL needs one per rank: a ring is used instead",
        )
    if plan.kind == "GPU" and is_cluster:
        # CommunicationImplementation.AUTO: NCCL only if the option collective_nccl is set, which
        # MultiWorkerMirroredStrategy does in graph mode alone.
        return Algorithm(
            "collective-ring",
            is_tensorflows_choice=True,
            note="Between processes TensorFlow reduces around its ring, also on GPUs: "
            "cross_device_ops=nccl takes NCCL",
        )
    return Algorithm("nccl" if plan.kind == "GPU" else "collective-ring", True)


def _asked_for(spec: RunSpec, plan: DevicePlan, name: str) -> Algorithm:
    possible = strategy_catalog.row(spec.strategy).algorithms
    if name not in possible:
        raise SpecError(
            f"{spec.strategy} cannot use cross_device_ops={name}",
            advice=f"Choose {', '.join(possible)} or auto",
            field="cross_device_ops",
        )
    if name == "nccl" and plan.kind != "GPU":
        raise _refusal(spec, f"NCCL works on GPUs only, not on devices={quoted(spec.devices)}")
    if name == "nccl" and plan.shares_gpus:
        raise _refusal(
            spec,
            f"NCCL needs a GPU for each rank; here {plan.logical_per_gpu * plan.workers_per_gpu} "
            "logical GPUs share one",
        )
    if name == "hierarchical-copy" and len(plan.indices) % 2:
        raise _refusal(
            spec,
            f"hierarchical-copy needs an even number of devices, not {len(plan.indices)}: it "
            "splits them into halves, and an odd one's gradients would be lost",
        )
    return Algorithm(name)


def _check_packs(spec: RunSpec, algorithm: Algorithm, *, packs_by_size: bool) -> None:
    """Refuse a setting that has no effect: its run would look like an experiment."""
    is_by_size = packs_by_size or algorithm.is_tensorflows_choice
    if spec.num_packs != 1 and (is_by_size or algorithm.name not in PACKED_BY_NUMBER):
        raise SpecError(
            f"num_packs={spec.num_packs} has no effect with {algorithm.name}",
            advice=f"Leave num_packs at 1, or choose {' or '.join(PACKED_BY_NUMBER)}",
            field="num_packs",
        )
    if spec.bytes_per_pack and not (is_by_size or algorithm.name == "collective-ring"):
        raise SpecError(
            f"bytes_per_pack={spec.bytes_per_pack} has no effect with {algorithm.name}",
            advice="Leave bytes_per_pack at 0, or choose collective-ring or auto",
            field="bytes_per_pack",
        )


def _refusal(spec: RunSpec, problem: str) -> SpecError:
    possible = strategy_catalog.row(spec.strategy).algorithms
    anywhere = [name for name in RUNS_ANYWHERE if name in possible]
    advice = f"Choose {' or '.join([*anywhere[:1], 'auto'])}"
    return SpecError(problem, advice=advice, field="cross_device_ops")


def _unused(spec: RunSpec, why: str) -> str | None:
    knobs = {
        "cross_device_ops": spec.cross_device_ops != "auto",
        "num_packs": spec.num_packs != 1,
        "bytes_per_pack": spec.bytes_per_pack != 0,
    }
    names = [name for name, is_set in knobs.items() if is_set]
    return f"{', '.join(names)} has no effect under {spec.strategy}: {why}" if names else None
