"""From a spec file and flags to a RunSpec. Flags win over the file, later ones over earlier."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from strategy_core.cli._options import add_set
from strategy_core.planning import strategy_catalog
from strategy_core.planning.spec_text import FLAG_FIELDS, flag_of
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import CROSS_DEVICE_OPS, RunSpec, load_spec
from strategy_profiles.user_input.arguments import whole
from strategy_profiles.user_input.text import TextError, parse_whole, quoted
from strategy_profiles.user_input.yaml_text import parse_yaml

_OPTIONS: dict[str, dict[str, Any]] = {
    "strategy": {"choices": strategy_catalog.names(), "metavar": "NAME"},
    "devices": {"metavar": "cpu:4"},
    "workers": {"type": whole, "metavar": "N"},
    "parameter_servers": {"type": whole, "metavar": "N"},
    "workload": {"metavar": "NAME|FILE"},
    "data": {"metavar": "PATH"},
    "global_batch_size": {"type": whole, "metavar": "N"},
    "steps": {"type": whole, "metavar": "N"},
    "seed": {"type": whole, "metavar": "N"},
    "loop": {"choices": ("custom", "fit")},
    "cross_device_ops": {"choices": CROSS_DEVICE_OPS, "metavar": "NAME"},
}
_HELP = {
    "strategy": f"one of {', '.join(strategy_catalog.names())}",
    "devices": "'cpu:4', 'gpu:2', 'gpu:0,gpu:1', 'tpu' or 'auto'",
    "workers": "worker processes of a multi-worker strategy",
    "parameter_servers": "parameter servers",
    "workload": "a built-in workload, or a file that defines one",
    "data": "your own data: .npz, .csv, .parquet, .tfrecord, a folder of images",
    "global_batch_size": "examples per step, over all replicas",
    "steps": "training steps; with --set steps=null the run goes on until it is stopped",
    "seed": "seed of weights and data order",
    "loop": "the lab's training loop (custom), or Keras fit",
    "cross_device_ops": f"one of {', '.join(CROSS_DEVICE_OPS)}",
}


def add_spec_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything that ends up in the RunSpec."""
    parser.add_argument("spec", nargs="?", metavar="SPEC.yaml", help="a RunSpec as YAML or JSON")
    for field in FLAG_FIELDS:
        parser.add_argument(flag_of(field), dest=field, help=_HELP[field], **_OPTIONS[field])
    add_set(
        parser, "any RunSpec field by its dotted path, the value as YAML: capture.every_step=true"
    )
    parser.add_argument(
        "--inject",
        action="append",
        default=[],
        metavar="delay:replica=2,ms=30",
        help="delay a step of this replica; the run records the delay",
    )
    parser.add_argument(
        "--reconfigure",
        action="append",
        default=[],
        metavar="STEP:KEY=VALUE",
        help="change the run before this step; several keys of one step form one change",
    )


@dataclass(frozen=True)
class Request:
    """What was asked, before it is known whether it fits together."""

    base: RunSpec
    """From the spec file, or the defaults."""
    changes: dict[str, Any]
    """Values given by flags, by dotted path."""

    def value(self, path: str) -> Any:
        """Return the value that a field of the spec will have."""
        if path in self.changes:
            return self.changes[path]
        return reduce(getattr, path.split("."), self.base)

    def spec(self, given: Mapping[str, Any] | None = None) -> RunSpec:
        """Return the requested spec, which the launcher validates; raises SpecError.

        `given` are fields known from elsewhere: the request must not contradict them.
        """
        for field, value in (given or {}).items():
            is_said = field in self.changes or field in self.base.model_fields_set
            if is_said and self.value(field) != value:
                raise SpecError(
                    f"{field}={self.value(field)} contradicts the cluster, which has "
                    f"{field}={value}",
                    advice="Leave it out",
                    field=field,
                )
        return self.base.with_changes({**self.changes, **(given or {})})


def read_request(args: argparse.Namespace) -> Request:
    """What the arguments ask for; raises SpecError."""
    changes = {
        field: getattr(args, field) for field in FLAG_FIELDS if getattr(args, field) is not None
    }
    changes |= read_changes(args.set, "--set")
    if args.inject:
        changes["inject"] = [_delay(text) for text in args.inject]
    if args.reconfigure:
        changes["reconfigure"] = _script(args.reconfigure)
    return Request(load_spec(args.spec) if args.spec else RunSpec(), changes)


def read_changes(texts: Sequence[str], flag: str = "A change") -> dict[str, Any]:
    """`KEY=VALUE` texts as values by dotted path; raises SpecError."""
    return dict(_assignment(text, flag) for text in texts)


def build_spec(args: argparse.Namespace) -> RunSpec:
    """The spec that the arguments ask for; raises SpecError."""
    return read_request(args).spec()


def _assignment(text: str, flag: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    key = key.strip()
    if not sign or not key:
        raise SpecError(f"{flag} {quoted(text)} has no value", advice="Write KEY=VALUE")
    if key == "inject" and value.startswith("delay:"):
        return "inject", [_delay(value)]
    try:
        return key, parse_yaml(value) if value else ""
    except TextError as error:
        said = f"The value {quoted(value)} of {quoted(key)[1:-1]} in {flag} {error}"
        raise SpecError(said, field=key) from None


def _delay(text: str) -> dict[str, Any]:
    kind, _, fields = text.partition(":")
    wrong = SpecError(
        f"--inject {quoted(text)} is not a delay",
        advice="Write delay:replica=R,ms=M",
        field="inject",
    )
    if kind != "delay" or not fields:
        raise wrong
    fields_of = dict(_assignment(part, "--inject") for part in fields.split(","))
    if not {"replica", "ms"} <= fields_of.keys() <= {"replica", "ms", "worker"}:
        raise wrong
    return {"kind": "delay", **fields_of}


def _script(texts: Sequence[str]) -> list[dict[str, Any]]:
    """One change per step, in the order of the steps."""
    by_step: dict[int, dict[str, Any]] = {}
    for text in texts:
        step, sign, assignment = text.partition(":")
        if not sign:
            raise SpecError(
                f"--reconfigure {quoted(text)} names no step",
                advice="Write STEP:KEY=VALUE",
                field="reconfigure",
            )
        try:
            number = parse_whole(step, most=2**31 - 1)
        except TextError as error:
            raise SpecError(
                f"The step {quoted(step)} of --reconfigure {error}",
                advice="Write STEP:KEY=VALUE",
                field="reconfigure",
            ) from None
        key, value = _assignment(assignment, "--reconfigure STEP:")
        by_step.setdefault(number, {})[key] = value
    return [{"step": step, "changes": changes} for step, changes in sorted(by_step.items())]
