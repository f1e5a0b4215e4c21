"""Why an imported profile lacks something. What was not recognised is never said to be absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from strategy_imports.chrome_spellings import USER_ANNOTATION
from strategy_imports.host_profile import HostProfile
from strategy_imports.recording import Ints
from strategy_imports.spans import COLLECTIVE
from strategy_profiles.capture.kernel_names import collective_of
from strategy_profiles.errors import shortened
from strategy_profiles.reporting import units

_MOST_NAMED = 3
_LONGEST_NAME = 60


NO_STEPS = (
    "no annotations of steps are recognised (step_num, ProfilerStep#, Optimizer.step#), and "
    "nothing that starts most of the work repeats"
)


def seen_annotations(host: HostProfile) -> str:
    """Return the annotations that a profile without steps has instead, for a sentence."""
    names = host.texts.all
    if USER_ANNOTATION not in names:
        return ""
    is_one = (host.spans.op == names.index(USER_ANNOTATION)) & (host.spans.device < 0)
    return _frequent_names(host, np.flatnonzero(is_one & ~_is_collective(host)))


def no_devices(hosts: Sequence[HostProfile]) -> str:
    """Return why no event of a device is known."""
    categories = sum((host.recording.categories for host in hosts), Counter[str]())
    if unknown := not_recognised(hosts):
        return f"no device is recognised in the profile; not recognised: {unknown}"
    if categories:
        kinds = [f"{count:,} {kind}" for kind, count in categories.most_common()]
        return f"the profile has events of the host only: {units.listed(kinds)}"
    return "the profile has no device that ran anything, and no op names with replica_N/"


def no_collectives(hosts: Sequence[HostProfile]) -> str | None:
    """Return why no collective is known in the steps; None if one is."""
    if any(len(host.collectives) for host in hosts):
        return None
    on_devices = sum(int((host.spans.category == COLLECTIVE).sum()) for host in hosts)
    if on_devices:
        return f"{units.counted(on_devices, 'collective')} ran outside of the steps"
    has_devices = any(device.num_events for host in hosts for device in host.devices)
    where = f"no collective is recognised on {'its' if has_devices else 'any'} device"
    for host in hosts:
        at = np.flatnonzero((host.spans.device < 0) & _is_collective(host))
        if named := _frequent_names(host, at):
            return f"{where}, though the host calls {named}"
    if not_recognised(hosts):
        return "no collective is recognised in the captured steps"
    return "no collective in the captured steps"


def not_recognised(hosts: Sequence[HostProfile]) -> str:
    """Return what the import does not know, for a sentence: `25,814 events of category x`."""
    counts = sum((host.recording.not_recognised for host in hosts), Counter[str]())
    most = counts.most_common(_MOST_NAMED)
    parts = [f"{units.counted(count, 'event')} of {what}" for what, count in most]
    more = counts.total() - sum(count for _, count in most)
    return units.listed([*parts, f"{more:,} more"] if more else parts)


def missing_ranks(hosts: Sequence[HostProfile]) -> str | None:
    """Return which ranks of several the profile has, such as `1 of 2 ranks`; None if all."""
    num_ranks = max((host.recording.num_ranks or 0 for host in hosts), default=0)
    present = sum(len(host.replicas.devices) for host in hosts)
    if not num_ranks and present == 1 and hosts[0].recording.rank is not None:
        return f"rank {hosts[0].recording.rank} only"
    return f"{present:,} of {num_ranks:,} ranks" if 0 < present < num_ranks else None


def _is_collective(host: HostProfile) -> NDArray[np.bool_]:
    """Return which events have the name of a collective."""
    is_named = [collective_of(name) is not None for name in host.texts.all]
    return np.asarray([*is_named, False], bool)[host.spans.name]


def _frequent_names(host: HostProfile, at: Ints) -> str:
    """Return the most frequent names of events, with their counts, for a sentence."""
    counts = Counter(host.spans.name[at].tolist())
    names = [
        f"{shortened(host.texts.all[name], _LONGEST_NAME)} ({n:,})"
        for name, n in counts.most_common(_MOST_NAMED)
    ]
    more = len(counts) - len(names)
    return units.listed([*names, f"{more:,} more"] if more else names)
