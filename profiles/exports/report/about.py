"""The spec, the environment, and the definition of every number."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import Section, note
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS
from strategy_lab.profiles.run.event_parts import Host


def environment(facts: RunFacts) -> Section:
    """Return the section with the run's spec and environment."""
    profile = facts.profile
    found = profile.environment
    host = found.host if found else Host()
    created = profile.identity.created_ns if profile.identity else None
    lines = [
        ("Run", profile.name),
        ("Started", _time(created)),
        ("TensorFlow", found and found.tensorflow),
        ("Python", found and found.python),
        ("Host", host.name),
        ("Platform", host.platform),
        ("CPU cores", host.cpus),
        ("Memory", None if host.memory_bytes is None else units.size(host.memory_bytes)),
        ("Devices", ", ".join(device.name for device in found.devices) if found else None),
    ]
    body = join(
        None if found else note("The run ended before TensorFlow reported its devices."),
        tag("dl", *(_line(term, value) for term, value in lines), class_="terms"),
        tag("h3", "Requested configuration (RunSpec)"),
        tag("pre", json.dumps(profile.spec, indent=2, ensure_ascii=False), tabindex="0")
        if profile.spec
        else note("This run was recorded without a RunSpec."),
    )
    return Section("environment", "Spec and environment", body)


def definitions() -> Section:
    """Return the section with the definition, formula and source of every figure."""
    entries = []
    for item in DEFINITIONS.values():
        unit = tag("span", f" {item.unit}", class_="quiet") if item.unit else None
        entries += [
            tag("dt", item.label, unit, id=f"definition-{item.key}"),
            tag(
                "dd",
                item.meaning,
                tag("span", item.formula, class_="formula") if item.formula else None,
                tag("span", item.source, class_="quiet") if item.source else None,
            ),
        ]
    body = join(
        note(
            "Measured: read from a capture or a clock. Measured by marks: timestamps in the "
            "graph of every step. Derived: computed from other numbers or the graph. Host "
            "times and device times are never added."
        ),
        tag("dl", *entries, class_="terms"),
    )
    return Section("definitions", "Definitions", body)


def _line(term: str, value: object) -> Markup:
    return join(tag("dt", term), tag("dd", "unknown" if value in (None, "") else str(value)))


def _time(epoch_ns: int | None) -> str | None:
    if not epoch_ns:
        return None
    return datetime.fromtimestamp(epoch_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
