"""A live change: the spec that results, and how the running processes make it.

`decide` is the one place that chooses between four ways. A change that asks for what is in force
already takes no step (`nothing`). A change of `STEP_FIELDS` keeps strategy, model and variables
(`adapt`). Any other is built in the same process from the state carried over
(`rebuild`), or in new processes from a checkpoint (`fresh-worker`) if this process lacks something
that only a new one can have: logical devices, or another place in a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from strategy_core.planning import collective_algorithms, strategy_catalog
from strategy_core.planning.device_plan import DevicePlan
from strategy_core.planning.spec_rules import check_fields, num_replicas
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import Delay, RunSpec
from strategy_profiles.user_input.text import quoted

FIXED_FIELDS = ("spec_version", "workload", "data", "seed")
"""Fields that the training state and its data depend on, so that no live change may touch them."""

STEP_FIELDS = frozenset(
    (
        *("capture", "global_batch_size", "hang_timeout_s", "inject", "live_delays"),
        *("reconfigure", "steps", "xla"),
    )
)
"""Fields of a spec that neither its strategy nor its model depends on."""
_REDUCTION_FIELDS = frozenset(("bytes_per_pack", "cross_device_ops", "num_packs"))
"""Fields on the reduction of gradients. Some strategies can change them without being rebuilt."""
MAX_TRACED = 50
"""Step graphs traced in one process. A change leaves its graph behind (5 to 20 MB), and TensorFlow
does not free it; a fresh process starts without them."""
HOSTS_ADVICE = "Stop the run, and start it again on every host with the new flags and --resume"


@dataclass(frozen=True, slots=True)
class RunningWorker:
    """The properties of a running process that decide how it can make a change."""

    logical: Mapping[str, int]
    """Logical devices by kind, which are fixed once TensorFlow's runtime has started."""
    num_gpus: int = 0
    """GPUs visible to the process."""
    is_in_cluster: bool = False
    num_traced: int = 0
    """Step graphs that the process has traced."""
    plan: DevicePlan | None = None
    """The devices in use; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How a change is made, and why not in place, or why not at all."""

    how: Literal["nothing", "adapt", "rebuild", "fresh-worker"]
    why: str = ""


def decide(before: RunSpec, after: RunSpec, wanted: DevicePlan, worker: RunningWorker) -> Decision:
    """Choose how `worker` makes the change to `after`, whose device plan is `wanted`."""
    in_force = worker.plan and why_nothing_changes(before, worker.plan, after, wanted)
    if in_force:
        return Decision("nothing", in_force)
    if worker.num_traced > MAX_TRACED:
        return Decision("fresh-worker", f"this worker has traced {worker.num_traced} step graphs")
    rebuilt = why_rebuilt(before, after)
    row = strategy_catalog.row(after.strategy)
    if rebuilt and (worker.is_in_cluster or row.is_cluster(after.workers)):
        return Decision("fresh-worker", f"{rebuilt} needs new processes in a cluster")
    lacking = _lacking_devices(after, wanted, worker)
    if lacking is not None:
        return Decision("fresh-worker", lacking)
    return Decision("rebuild", rebuilt) if rebuilt else Decision("adapt")


def why_nothing_changes(
    before: RunSpec, now: DevicePlan, after: RunSpec, wanted: DevicePlan
) -> str | None:
    """Why `after`, on the devices `wanted`, is what is in force already; None if it is not."""
    names = [name for name in RunSpec.model_fields if getattr(before, name) != getattr(after, name)]
    ahead = [change for change in before.reconfigure if change in after.reconfigure]
    if ahead == list(after.reconfigure):  # without changes of the past, `changed_spec` dropped them
        names = [name for name in names if name != "reconfigure"]
    if now != wanted or not {"devices", "cross_device_ops"}.issuperset(names):
        return None
    if "cross_device_ops" in names:
        used = {
            collective_algorithms.decide(before, now).name,
            collective_algorithms.decide(after, wanted).name,
        }
        # Of the algorithms that `auto` can choose, only the ring is built in the same way if named.
        if used != {"collective-ring"}:
            return None
        return f"{before.cross_device_ops} is collective-ring here, which is in use already"
    return "this configuration is in force already"


def why_rebuilt(before: RunSpec, after: RunSpec) -> str | None:
    """Why the change builds the strategy or the variables again, for a message; None if it keeps
    both."""
    if before.loop == "fit":
        return "a change under Keras fit"
    if strategy_catalog.row(before.strategy).has_cores:
        return "a change of a TPU program"
    fields = [name for name in fixed_fields(after) if getattr(before, name) != getattr(after, name)]
    return f"a change of {', '.join(fields)}" if fields else None


def fixed_fields(spec: RunSpec) -> list[str]:
    """The fields of a spec that its strategy, model and variables depend on."""
    can_change_reduction = strategy_catalog.row(spec.strategy).can_change_reduction
    free = STEP_FIELDS | (_REDUCTION_FIELDS if can_change_reduction else frozenset())
    return [name for name in RunSpec.model_fields if name not in free]


def _lacking_devices(spec: RunSpec, wanted: DevicePlan, worker: RunningWorker) -> str | None:
    """A message on the logical devices that a worker lacks for `spec`; None if it has all."""
    count = worker.logical.get(wanted.kind, 0)
    if wanted.num_logical > count:
        return (
            f"this worker was started with {count} logical {wanted.kind}s, "
            f"and {spec.devices} needs {wanted.num_logical}"
        )
    logical_per_gpu = count // max(1, worker.num_gpus)
    if wanted.kind == "GPU" and wanted.logical_per_gpu != logical_per_gpu:
        return f"this worker's GPUs are split into {logical_per_gpu}, not {wanted.logical_per_gpu}"
    return None


def not_on_hosts(why: str) -> str:
    """The error for a change that needs new processes, in a run with one launcher per host."""
    return f"A run on several hosts cannot start the new processes that the change needs: {why}"


def check_planned_on_hosts(spec: RunSpec) -> None:
    """Raise SpecError if a scripted change of a run on several hosts needs new processes.

    A fresh process would need its predecessor's port, at the same address on every host, before
    that one has left.
    """
    now = spec
    for planned in sorted(spec.reconfigure, key=lambda change: change.step):
        after = changed_spec(now, planned.changes, planned.step)
        if rebuilt := why_rebuilt(now, after):
            raise SpecError(not_on_hosts(rebuilt), advice=HOSTS_ADVICE, field="reconfigure")
        now = after


def changed_spec(spec: RunSpec, changes: Mapping[str, Any], step: int) -> RunSpec:
    """`spec` with the dotted paths of `changes` set, in force from `step` on; raises SpecError.

    Scripted changes up to `step` are left out: they have been made. So are delays in replicas
    that go away with the change, see `ended_delays`.
    """
    if not changes:
        raise SpecError("The change names no field", advice="Name at least one as KEY=VALUE")
    for path in changes:
        if path.split(".")[0] in FIXED_FIELDS:
            raise SpecError(
                f"{path}={quoted(changes[path])} cannot change while a run goes on",
                advice="Start a new run for that",
                field=path,
            )
    changed = with_delays_that_can_stay(spec, changes)
    check_fields(changed)
    if changed.steps is not None and changed.steps <= step:
        raise SpecError(
            f"steps={changed.steps} is not after step {step}, where the run is now",
            advice="Stop the run to end it now",
            field="steps",
        )
    ahead = [planned.model_dump() for planned in changed.reconfigure if planned.step > step]
    return changed.with_changes({"reconfigure": ahead})


def ended_delays(before: RunSpec, after: RunSpec) -> list[str]:
    """Notes about delays that a change ended because it removed their replica."""
    return [
        f"With this change the delay of {delay.ms:g} ms in replica {delay.replica} of worker "
        f"{delay.worker} ends, because that replica no longer exists"
        for delay in before.inject
        if not _has_replica(after, delay)
    ]


def with_delays_that_can_stay(spec: RunSpec, changes: Mapping[str, Any]) -> RunSpec:
    """Return the changed spec, without the delays of replicas that the change removes."""
    if "inject" in changes or not spec.inject:
        return spec.with_changes(changes)
    bare = spec.with_changes({**changes, "inject": []})
    staying = [delay.model_dump() for delay in spec.inject if _has_replica(bare, delay)]
    return bare.with_changes({"inject": staying})


def _has_replica(spec: RunSpec, delay: Delay) -> bool:
    """Whether a delay's replica exists; True if only the machine's inventory can tell."""
    if delay.worker >= spec.workers:
        return False
    replicas = num_replicas(spec)
    return replicas is None or delay.replica < replicas // spec.workers
