"""The machine and the TensorFlow that a run was recorded with."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from strategy_profiles.reporting.gpus import gpu_kinds
from strategy_profiles.run.event_parts import Gpu
from strategy_profiles.tables.store import Profile


class Machine(msgspec.Struct, frozen=True):
    """What runs have to share for their times to be comparable."""

    host: str | None = None
    cpus: int | None = None
    tensorflow: str | None = None
    gpus: tuple[Gpu, ...] = ()
    """Those that the process saw; empty also if they are not known."""
    num_gpus: int | None = None
    """None also for a run of the lab: its process sees those of its spec."""

    @property
    def text(self) -> str:
        parts = [f"{self.cpus or 'an unknown number of'} CPUs", *gpu_kinds(self.gpus)]
        return f"{self.host or 'an unknown host'} ({'; '.join(parts)})"


_OF_GPUS = ("model", "compute_capability", "driver", "memory_bytes")


def different_machines(machines: Sequence[Machine]) -> tuple[str, ...]:
    """The machines in words if what is known of them differs; else none."""
    facts = zip(*(_facts(each) for each in machines), strict=True)
    differ = any(len({value for value in values if value}) > 1 for values in facts)
    return tuple(dict.fromkeys(each.text for each in machines)) if differ else ()


def machine_of(profile: Profile) -> Machine:
    """Return what a run recorded of its machine; empty for a run without it."""
    environment = profile.environment
    if environment is None:
        return Machine()
    gpus = tuple(environment.gpus)
    return Machine(
        environment.host.name,
        environment.host.cpus,
        environment.tensorflow or None,
        gpus,
        len(gpus) if gpus and profile.spec is None else None,
    )


def _facts(machine: Machine) -> list[object]:
    """What machines are compared by; empty if it is not known."""
    of_gpus = [{getattr(gpu, name) for gpu in machine.gpus} - {None} for name in _OF_GPUS]
    return [machine.host, machine.cpus, machine.num_gpus, *map(frozenset, of_gpus)]
