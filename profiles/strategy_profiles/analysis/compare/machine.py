"""The machine and the TensorFlow that a run was recorded with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


class Machine(msgspec.Struct, frozen=True):
    """What runs have to share for their times to be comparable."""

    host: str | None = None
    cpus: int | None = None
    tensorflow: str | None = None

    @property
    def text(self) -> str:
        return f"{self.host or 'an unknown host'} ({self.cpus or 'an unknown number of'} CPUs)"


def different_machines(machines: Sequence[Machine]) -> tuple[str, ...]:
    """The machines in words if what is known of them differs; else none."""
    known = [
        {value for value in values if value is not None}
        for values in ([each.host for each in machines], [each.cpus for each in machines])
    ]
    differ = any(len(values) > 1 for values in known)
    return tuple(dict.fromkeys(each.text for each in machines)) if differ else ()


def machine_of(profile: Profile) -> Machine:
    """Return what a run recorded of its machine; empty for a run without it."""
    environment = profile.environment
    if environment is None:
        return Machine()
    return Machine(environment.host.name, environment.host.cpus, environment.tensorflow or None)
