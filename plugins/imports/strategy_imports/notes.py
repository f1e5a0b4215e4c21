"""What an imported profile tells, what it does not, and why, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_imports.absent import (
    NO_STEPS,
    missing_ranks,
    no_collectives,
    no_devices,
    not_recognised,
    seen_annotations,
)
from strategy_imports.found_files import FoundFiles
from strategy_imports.host_profile import HostProfile
from strategy_imports.spans import COLLECTIVE, TRANSFER
from strategy_profiles.capture.kernel_names import collective_of
from strategy_profiles.reporting import units

_MOST_PROBLEMS = 20
_AHEAD = 1.1
"""From this ratio on, the devices' steps are longer than those of the host."""


@dataclass(frozen=True, slots=True)
class ImportNotes:
    """Sentences for the reader, and the reasons of what is missing, by topic."""

    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    unknown: dict[str, str]


def what_is_known(files: FoundFiles, hosts: Sequence[HostProfile]) -> ImportNotes:
    """Return what the run says about its own origin and gaps."""
    notes = [*_steps(hosts[0]), _replicas(hosts), *_ranks(hosts), *_models(hosts)]
    notes += [*_other_sessions(files), *_left_out(hosts), *_not_recognised(hosts)]
    notes += [*_collectives(hosts), *_copies(hosts), *_slices(hosts)]
    if missing_ranks(hosts) and any(len(host.collectives) for host in hosts):
        notes.append("Waits for ranks that are not in the profile count as transfer")
    if len(hosts) > 1:
        notes.append(
            "Each host has its own clock, and the profile does not say how far they are apart: "
            "waits for replicas of other hosts count as transfer"
        )
    if not all(host.recording.start_ns for host in hosts):
        notes.append("The profile does not say when it was recorded: times begin at 1970")
    warnings = [
        f"{_host_prefix(host, hosts)}{problem}"
        for host in hosts
        for problem in host.recording.problems[:_MOST_PROBLEMS]
    ]
    more = sum(max(len(host.recording.problems) - _MOST_PROBLEMS, 0) for host in hosts)
    if more:
        warnings.append(f"{more:,} more parts of the profile cannot be read")
    return ImportNotes(tuple(filter(None, notes)), tuple(warnings), _unknown(hosts))


def _unknown(hosts: Sequence[HostProfile]) -> dict[str, str]:
    first = hosts[0]
    unknown = {
        "loss": "a profile does not record the loss",
        "examples": "a profile does not record the batch size",
        "batch": "a profile does not record it",
        "parameters": "a profile does not record it",
        "variables": "a profile does not record variables",
        "causes": "a profile of another program has no Python samples and no graph",
        "memory": "an import does not read events of memory",
        "cores": "a profile does not say which cores are one replica: each core counts as one",
        "links": "a profile does not record what processes send over the network",
        "servers": "a profile does not say which processes are parameter servers",
        "environment": "a profile does not record it",
        "cost": "the profile does not say what its recording cost",
        "bytes": "the profile does not tell the size of at least one collective",
        "transfers": "the profile does not tell the size of at least one copy",
    }
    if not len(first.steps):
        unknown["steps"] = unknown["replicas"] = NO_STEPS
    if not any(host.replicas.devices for host in hosts):
        unknown["replicas"] = unknown["devices"] = no_devices(hosts)
    if reason := no_collectives(hosts):
        unknown["collectives"] = reason
    if (missing := missing_ranks(hosts)) is not None:
        unknown["others"] = f"the profile has {missing}: no other to compare it with"
    if not first.has_input:
        unknown["input"] = "the profile has no events of an input pipeline"
    return unknown


def _steps(host: HostProfile) -> list[str]:
    steps = host.steps
    if steps.how is None:
        notes = [f"All events are one window without steps: {NO_STEPS}"]
        return notes + [f"Annotations in it: {seen}" for seen in [seen_annotations(host)] if seen]
    until = "" if steps.how == "optimizer" else ", each until the next one begins"
    if steps.is_derived:
        why = "because the profile has no annotations of steps"
        notes = [f"Steps are derived, {why}: {steps.what}{until}"]
    elif len(steps) == 1:
        notes = [f"The only step comes from {steps.what}"]
    else:
        notes = [f"The {len(steps):,} steps come from {steps.what}"]
    notes += _behind(host)
    if steps.partial:
        parts = [f"{number} ({units.milliseconds(ns / 1e6)})" for number, ns in steps.partial]
        which = "step" if len(parts) == 1 else "steps"
        notes.append(f"The profile has only a part of {which} {units.listed(parts)}: left out")
    return notes


def _behind(host: HostProfile) -> list[str]:
    """Return a note if the devices take longer for a step than the host, which runs ahead."""
    steps = host.steps
    if steps.how in (None, "step line", "modules") or not steps.devices:
        return []
    by_host = float(np.median(steps.host.end_ns - steps.host.start_ns)) / 1e6
    by_device = max(float(np.median(w.end_ns - w.start_ns)) for w in steps.devices.values()) / 1e6
    if by_device < _AHEAD * by_host:
        return []
    note = f"The host runs ahead: it starts a step every {units.milliseconds(by_host)}, and the "
    note += f"devices take {units.milliseconds(by_device)} for one; the step time is the host's"
    return [note]


def _replicas(hosts: Sequence[HostProfile]) -> str:
    sources = {host.replicas.source for host in hosts if host.replicas.devices}
    count = sum(len(host.replicas.devices) for host in hosts)
    idle = [device for host in hosts for device in host.devices if not device.num_events]
    copying = [
        device
        for host in hosts
        for number, device in enumerate(host.devices)
        if device.num_events and number not in host.replicas.devices
    ]
    numbers = dict.fromkeys(str(number) for host in hosts for number in host.replicas.named)
    sentence = f"{units.counted(count, 'replica')}, by {' and '.join(sorted(sources))}"
    if not count:
        return "No replica is known"
    if idle:
        verb = "has" if len(idle) == 1 else "have"
        sentence += f"; {units.counted(len(idle), 'device')} {verb} no event and no replica"
    if copying and any(max(host.replicas.devices, default=-1) >= 0 for host in hosts):
        verb = "has" if len(copying) == 1 else "have"
        sentence += f"; {units.counted(len(copying), 'device')} {verb} copies only, and no replica"
    if numbers:
        sentence += f"; the program numbers them {units.listed(list(numbers))}"
    return sentence


def _ranks(hosts: Sequence[HostProfile]) -> list[str]:
    ranks = sorted({host.recording.rank for host in hosts if host.recording.rank is not None})
    if not ranks:
        return []
    numbers = units.listed([str(rank) for rank in ranks])
    known = max((host.recording.num_ranks or 0 for host in hosts), default=0)
    of = f" of the program's {known:,}" if known else "; how many there are, it does not say"
    if known == 1:
        return ["The program has one rank"]
    return [f"The profile has rank{'s' if len(ranks) > 1 else ''} {numbers}{of}"]


def _models(hosts: Sequence[HostProfile]) -> list[str]:
    models = {
        model
        for host in hosts
        for device in host.devices
        if device.num_events and (model := host.recording.models.get(device.number))
    }
    return [f"Devices: {units.listed(sorted(models))}"] if models else []


def _not_recognised(hosts: Sequence[HostProfile]) -> list[str]:
    return [f"Not recognised: {unknown}"] if (unknown := not_recognised(hosts)) else []


def _other_sessions(files: FoundFiles) -> list[str]:
    if not files.others:
        return []
    names = ", ".join(path.name for path in files.others[:5])
    more = f" and {len(files.others) - 5:,} more" if len(files.others) > 5 else ""
    return [f"The newest session was imported; there are others: {names}{more}"]


def _left_out(hosts: Sequence[HostProfile]) -> list[str]:
    left_out = sum((host.recording.left_out for host in hosts), Counter[str]())
    total = sum(host.recording.num_events for host in hosts)
    if not left_out.total():
        return []
    what = [f"{count:,} of {kind}" for kind, count in left_out.most_common() if count]
    return [f"{left_out.total():,} of {total:,} events are not kept: {units.listed(what)}"]


def _collectives(hosts: Sequence[HostProfile]) -> list[str]:
    outside = sum(
        int(np.count_nonzero((host.spans.category == COLLECTIVE) & (host.spans.step < 0)))
        for host in hosts
        if len(host.steps)
    )
    if not outside:
        return []
    return [
        f"{units.counted(outside, 'collective')} ran outside of the steps: in the timeline only"
    ]


def _copies(hosts: Sequence[HostProfile]) -> list[str]:
    """Return a note if a TPU core waits for copies whose events the profile does not have."""
    lost = []
    for host in hosts:
        spans = host.spans
        for number, device in enumerate(host.devices):
            at = (spans.device == number) & (spans.category == TRANSFER)
            if device.kind == "TPU" and at.any() and not (spans.bytes[at] >= 0).any():
                lost.append(device.name)
    if not lost:
        return []
    names = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
    return [f"The profile has waits for copies of {names}, but not the copies: no bytes of them"]


def _slices(hosts: Sequence[HostProfile]) -> list[str]:
    """Return notes on the messages between slices."""
    messages = [host.messages.take(np.flatnonzero(host.messages.is_across)) for host in hosts]
    slices = {int(number) for each in messages for number in np.unique(each.ends[:, [0, 2]])}
    sizes: dict[str, int] = {}
    for each in messages:
        for name, size in zip(each.collective, each.bytes.tolist(), strict=True):
            kind = collective_of(name) or "unnamed"
            sizes[kind] = sizes.get(kind, 0) + size
    notes = []
    if sizes:
        largest = sorted(sizes.items(), key=lambda item: -item[1])
        parts = [f"{kind} {units.size(size)}" for kind, size in largest]
        notes.append(
            f"{units.counted(sum(map(len, messages)), 'message')} of collectives between "
            f"{len(slices)} slices (Megascale) arrived on these hosts: {units.listed(parts)}"
        )
    if unusable := sum(host.messages.num_unusable for host in hosts):
        notes.append(
            f"{units.counted(unusable, 'message')} between slices without sender, receiver, size "
            "or length: not counted"
        )
    return notes


def _host_prefix(host: HostProfile, hosts: Sequence[HostProfile]) -> str:
    return f"{host.recording.host}: " if len(hosts) > 1 else ""
