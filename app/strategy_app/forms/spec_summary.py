"""Summary of a spec: the fields that identify the run, and those that differ from defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strategy_core.planning.spec_text import FLAG_FIELDS
from strategy_profiles.reporting.spec_changes import flatten
from strategy_profiles.spec.run_spec import RunSpec

ALWAYS = (*FLAG_FIELDS, "num_packs")
UNSAID = (("workers", 1), ("parameter_servers", 0))
WHERE_SET = (
    "learning_rate",
    "xla",
    "bytes_per_pack",
    "network.",
    "cluster.",
    "parameter_server.",
    "tpu.",
)
"""Fields, and groups of fields, that are shown if they differ from the default."""


def requested_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec by readable name: `network delay ms` -> 5.0."""
    usual, flat = flatten(RunSpec().to_json()), flatten(spec)
    fields = {
        name: spec[name]
        for name in ALWAYS
        if spec.get(name) is not None and (name, spec[name]) not in UNSAID
    }
    if "steps" in spec:
        fields["steps"] = spec["steps"] or "until stopped"
    fields |= {
        path: value
        for path, value in flat.items()
        if path in usual and value != usual[path] and path.startswith(WHERE_SET)
    }
    return {path.replace(".", " ").replace("_", " "): value for path, value in fields.items()}
