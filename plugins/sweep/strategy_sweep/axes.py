"""The axes of a sweep, and the configurations that are possible on this machine.

A combination that the lab's own validation refuses is left out with its reason, as is one that is
the same as another: an algorithm that has no effect, or `auto` beside what it chooses.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_core.planning import collective_algorithms, strategy_catalog, validation
from strategy_core.planning.device_plan import DevicePlan, plan
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.reconfiguration import why_nothing_changes
from strategy_profiles.errors import SpecError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.spec_changes import flatten, value_text
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.files import read_text
from strategy_profiles.user_input.text import TextError, quoted
from strategy_profiles.user_input.yaml_text import parse_yaml
from strategy_sweep.record import Configuration, LeftOut

ALIASES = {
    "batch": "global_batch_size",
    "global_batch": "global_batch_size",
    "algorithm": "cross_device_ops",
    "packs": "num_packs",
}
"""Short names of fields, as axes."""
_SHOWN = {
    "global_batch_size": "batch",
    "cross_device_ops": "",
    "num_packs": "packs",
    "bytes_per_pack": "bytes per pack",
    "strategy": "",
    "devices": "",
}
"""What stands before a value in a label; other fields have their name."""
MOST_CONFIGURATIONS = 200
MOST_COMBINATIONS = 5_000
_NOT_AXES = (
    "steps",
    "seed",
    "reconfigure",
    "capture",
    "inject",
    "workload",
    "data",
    "spec_version",
)
_MOST_CPUS = 4
RECIPES: dict[str, dict[str, list[Any]]] = {"fit-or-loop": {"loop": ["custom", "fit"]}}
"""Ready axes. `fit-or-loop`: is the lab's own loop faster than Keras `fit` on the same model?"""

Axes = dict[str, list[Any]]


@dataclass(frozen=True)
class Combinations:
    """What is run, and what is not."""

    configurations: list[Configuration]
    reference: int
    left_out: list[LeftOut]


def default_axes(base: RunSpec, inventory: Inventory) -> Axes:
    """Return the axes that a sweep form starts with.

    - `strategy`: those that are available here, run in one process and take any number of devices;
    - `devices`: powers of two up to the number of GPUs or, without one, twice the number of CPU
      cores, at most `_MOST_CPUS`;
    - `global_batch_size`: that of `base`, and four times as many examples.
    """
    gpus = inventory.count("GPU")
    most = gpus or min(_MOST_CPUS, max(2, os.cpu_count() or 1) * 2)
    rows = [offer.row for offer in strategy_catalog.offers(inventory) if offer.available]
    strategies = [
        row.name
        for row in rows
        if row.runs_in != "several" and not row.has_cores and not row.takes_first_device
    ]
    return {
        "strategy": strategies,
        "devices": [number for number in (1, 2, 4, 8, 16) if number <= most],
        "global_batch_size": [base.global_batch_size, base.global_batch_size * 4],
    }


def read_axes(texts: Sequence[str]) -> Axes:
    """`devices=1,2,4` texts, or names of YAML files with such fields; raises SpecError."""
    axes: Axes = {}
    for text in texts:
        for name, given in _fields(text):
            field = ALIASES.get(name, name)
            if field in axes:
                raise SpecError(f"--vary names {quoted(field)} twice", field=field)
            values = given if isinstance(given, list) and given else [given]
            axes[field] = [value for i, value in enumerate(values) if value not in values[:i]]
    return axes


def combine(base: RunSpec, axes: Axes, inventory: Inventory) -> Combinations:
    """Every combination of the axes' values that can run here; raises SpecError for a wrong axis.

    The base itself is among them: it is what the others are compared with.
    """
    _check_axes(base, axes, inventory)
    kept: list[tuple[Configuration, RunSpec, DevicePlan]] = []
    left_out: list[LeftOut] = []
    validation.check(base, inventory)
    named = _labelled_axes(base, axes, inventory)
    for values in itertools.product(*axes.values()):
        combination = dict(zip(axes, values, strict=True))
        changes = fields_of(base, combination, inventory)
        label = label_of({field: combination[field] for field in named})
        spec = base.with_changes(changes)
        error = _refusal(spec, inventory)
        if error is not None:
            left_out.append(LeftOut(label, error.problem))
            continue
        planned = plan(spec, inventory)
        same = _same_as(spec, planned, kept)
        if same is not None:
            left_out.append(LeftOut(label, same))
            continue
        kept.append((Configuration(label, changes, planned.num_replicas), spec, planned))
    reference = _place_of(base, kept, inventory)
    if reference is None:
        reference = len(kept)
        planned = plan(base, inventory)
        label = _base_label(base, named, planned, inventory)
        kept.append((Configuration(label, {}, planned.num_replicas), base, planned))
    if len(kept) > MOST_CONFIGURATIONS:
        raise SpecError(
            f"{len(kept)} configurations are more than the {MOST_CONFIGURATIONS} of a sweep",
            advice="Give fewer values",
        )
    if len(kept) < 2:
        why = f": {left_out[0].label}: {left_out[0].reason}" if left_out else ""
        raise SpecError(
            f"Only one configuration can run here, which leaves nothing to compare{why}",
            advice="Vary another field, such as --vary devices=1,2,4",
        )
    return Combinations([item for item, _, _ in kept], reference, left_out)


def _labelled_axes(base: RunSpec, axes: Axes, inventory: Inventory) -> list[str]:
    """Return the axes that labels name: not those with one value that is the base's own."""

    def is_own(field: str) -> bool:
        (value,) = axes[field]
        try:
            return base.with_changes(fields_of(base, {field: value}, inventory)) == base
        except SpecError:  # valid beside the values of other axes alone
            return False

    return [field for field in axes if len(axes[field]) > 1 or not is_own(field)] or list(axes)


def label_of(values: Mapping[str, Any]) -> str:
    """`mirrored cpu:4 batch 128`: the values of the axes in words."""
    parts = []
    for field, value in values.items():
        before = _SHOWN.get(field, field.replace("_", " "))
        is_count = field == "devices" and isinstance(value, int)
        text = units.counted(value, "device") if is_count else value_text(value)
        parts.append(f"{before} {text}".strip())
    return " ".join(parts)


def _fields(text: str) -> Iterator[tuple[str, Any]]:
    if "=" not in text:
        yield from _of_file(text)
        return
    name, _, values = text.partition("=")
    if not values.strip():
        raise SpecError(
            f"--vary {quoted(text)} names no value", advice="Write FIELD=VALUE,VALUE", field=name
        )
    try:
        yield name.strip(), parse_yaml(f"[{values}]")
    except TextError as error:
        raise SpecError(
            f"--vary {quoted(text)} {error}", advice="Write FIELD=VALUE,VALUE", field=name.strip()
        ) from None


def _of_file(path: str) -> Iterator[tuple[str, Any]]:
    try:
        document = parse_yaml(read_text(Path(path), "The file of axes"))
    except TextError as error:
        raise SpecError(f"The file of axes {path} {error}") from None
    if not isinstance(document, dict) or not document:
        raise SpecError(
            f"The file of axes {path} has no fields",
            advice="Write one field a line, such as 'devices: [1, 2, 4]'",
        )
    yield from document.items()


def _check_axes(base: RunSpec, axes: Axes, inventory: Inventory) -> None:
    """Raise SpecError for an unknown field, a value that no RunSpec takes, or too much of it."""
    if not axes:
        raise SpecError("A sweep needs an axis", advice="Give one, such as --vary devices=1,2,4")
    num = 1
    for field, values in axes.items():
        if field.partition(".")[0] in _NOT_AXES:
            raise SpecError(
                f"{quoted(field)} cannot be swept: runs would not do the same work, or not differ",
                advice="Vary strategy, devices, global_batch_size, cross_device_ops or the like",
                field=field,
            )
        num *= len(values)
        for value in values:
            if field == "devices":
                _check_number(value)
            changed = base.with_changes(fields_of(base, {field: value}, inventory))
            strategy_catalog.row(changed.strategy)
    if num > MOST_COMBINATIONS:
        raise SpecError(f"{num:,} combinations are too many", advice="Give fewer values")


def _check_number(value: Any) -> None:
    """Raise SpecError for a plain number that is no count; `cpu:0` would be the first CPU."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not isinstance(value, str) and not is_count:
        raise SpecError(
            f"{quoted(value)} is not a number of devices",
            advice="Give whole numbers from 1, such as devices=1,2,4, or names such as "
            "devices=cpu:2",
            field="devices",
        )


def fields_of(base: RunSpec, wanted: Mapping[str, Any], inventory: Inventory) -> dict[str, Any]:
    """The fields of the spec that the values of axes mean.

    A plain number of devices is that of replicas: of a strategy in several processes the number of
    workers with a device each.
    """
    changes = dict(wanted)
    number = wanted.get("devices")
    if not isinstance(number, int) or isinstance(number, bool):
        return _with_servers(base, changes)
    row = strategy_catalog.row(str(wanted.get("strategy", base.strategy)))
    is_gpu = inventory.count("GPU") > 0 and "GPU" in row.kinds and not row.has_servers
    kind = "gpu" if is_gpu else "cpu"
    if row.runs_in == "several":
        changes |= {"devices": f"{kind}:1", "workers": wanted.get("workers", number)}
    else:
        changes |= {"devices": f"{kind}:{number}"}
        if "workers" not in wanted and row.runs_in == "one":
            changes["workers"] = 1
    return _with_servers(base, changes)


def _with_servers(base: RunSpec, changes: dict[str, Any]) -> dict[str, Any]:
    """With a parameter server exactly if the strategy uses one."""
    if "strategy" in changes and "parameter_servers" not in changes:
        row = strategy_catalog.find(str(changes["strategy"]))
        if row is not None:
            changes["parameter_servers"] = max(1, base.parameter_servers) if row.has_servers else 0
    return changes


def _refusal(spec: RunSpec, inventory: Inventory) -> SpecError | None:
    try:
        validation.check(spec, inventory)
        note = collective_algorithms.decide(spec, plan(spec, inventory)).note
    except SpecError as error:
        return error
    if note is not None and "no effect" in note:
        return SpecError(note)
    return None


def _same_as(
    spec: RunSpec, planned: DevicePlan, kept: Sequence[tuple[Configuration, RunSpec, DevicePlan]]
) -> str | None:
    for other, other_spec, other_plan in kept:
        if spec == other_spec or why_nothing_changes(other_spec, other_plan, spec, planned):
            return f"it is the same as {other.label} here"
    return None


def _place_of(
    base: RunSpec,
    kept: Sequence[tuple[Configuration, RunSpec, DevicePlan]],
    inventory: Inventory,
) -> int | None:
    """The configuration that is the base; None if the axes do not have it."""
    planned = plan(base, inventory)
    for index, (_, spec, spec_plan) in enumerate(kept):
        if spec == base or why_nothing_changes(base, planned, spec, spec_plan):
            return index
    return None


def _base_label(
    base: RunSpec, named: Sequence[str], planned: DevicePlan, inventory: Inventory
) -> str:
    """The base in the words of the other labels: its devices as a number where that means them."""
    document = flatten(base.to_json())
    values = {field: document.get(field) for field in named}
    number = planned.num_replicas
    if "devices" in values and number is not None:
        means = base.with_changes(fields_of(base, {"devices": number}, inventory))
        if means == base or base.device_request.kind == "auto":
            values["devices"] = number
    return label_of(values)
