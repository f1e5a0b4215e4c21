"""The sections that show answers of `analysis` as tables; templates write the cells."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from strategy_profiles.analysis.clocks import worker_clocks
from strategy_profiles.analysis.losses import loss
from strategy_profiles.reporting import units
from strategy_profiles.reporting.gpus import gpu_lines
from strategy_profiles.reporting.thread_pools import thread_pools
from strategy_profiles.run.event_parts import Host
from strategy_profiles.run.process_history import read_processes
from strategy_profiles.tables.store import Profile
from strategy_report.facts import RunFacts, Section

_EPOCH_NS = 10**18
"""Earlier times are not since 1970: the profile does not say when it was recorded."""


def processes(facts: RunFacts) -> Section | None:
    """Role and exit of each process of a run with several, and the recovery after a loss."""
    states = read_processes(facts.profile.sources).current()
    if len(states) < 2:
        return None
    clocks = {item.worker: item.sentence for item in worker_clocks(facts.profile)}
    values = {"processes": states, "clocks": clocks, "loss": loss(facts.profile)}
    return Section("processes", "Processes", values)


def environment(facts: RunFacts) -> Section:
    """The run's spec and environment."""
    profile = facts.profile
    recorded = profile.environment
    host = recorded.host if recorded else Host()
    created = profile.identity.created_ns if profile.identity else None
    lines = [
        ("Run", profile.name),
        *_times(profile, created),
        ("TensorFlow", recorded and recorded.tensorflow),
        ("Python", recorded and recorded.python),
        ("Host", host.name),
        ("Platform", host.platform),
        ("CPU cores", host.cpus),
        *thread_pools(recorded.threads if recorded else None),
        ("Memory", None if host.memory_bytes is None else units.size(host.memory_bytes)),
        ("Devices", ", ".join(device.name for device in recorded.devices) if recorded else None),
        *gpu_lines(recorded.gpus if recorded else ()),
    ]
    spec = json.dumps(profile.spec, indent=2, ensure_ascii=False)
    return Section("environment", "Spec and environment", {"lines": lines, "spec": spec})


def _times(profile: Profile, created_ns: int | None) -> list[tuple[str, str | None]]:
    if not profile.is_imported:
        return [("Started", _time(created_ns))]
    recorded_ns = min((segment.started_ns for segment in profile.segments), default=0)
    recorded = _time(recorded_ns) if recorded_ns > _EPOCH_NS else None
    return [("Recorded", recorded), ("Imported", _time(created_ns))]


def _time(epoch_ns: int | None) -> str | None:
    if not epoch_ns:
        return None
    return datetime.fromtimestamp(epoch_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def definitions(_facts: RunFacts) -> Section:
    """Definition, formula and source of every figure."""
    return Section("definitions", "Definitions")
