"""A RunSpec as text that starts the same run again: a command, a YAML file, a Python program.

Each text holds the fields that differ from the defaults, and those that most runs name.
"""

from __future__ import annotations

import math
import pprint
import shlex
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import yaml

from strategy_profiles.reporting.spec_changes import flatten
from strategy_profiles.spec.run_spec import RunSpec

FLAG_FIELDS = (
    "strategy",
    "devices",
    "workers",
    "parameter_servers",
    "workload",
    "data",
    "global_batch_size",
    "steps",
    "seed",
    "loop",
    "cross_device_ops",
)
"""Fields that `strategy-lab run` has a flag for; `--set` sets the others."""

ALWAYS = ("strategy", "devices", "workload", "global_batch_size", "steps")
"""Fields that are written even if they have their default."""


def flag_of(field: str) -> str:
    """Return the flag of a field: `--global-batch-size`."""
    return "--" + field.replace("_", "-")


def as_command(spec: RunSpec) -> str:
    """Return a `strategy-lab run` command for a POSIX shell, a flag a line."""
    return " \\\n  ".join(["strategy-lab run", *(shlex.join(words) for words in _words(spec))])


def as_yaml(spec: RunSpec) -> str:
    """Return a spec file for `strategy-lab run SPEC.yaml`."""
    text: str = yaml.safe_dump(_document(spec), sort_keys=False, allow_unicode=True)
    return text


def as_difference(before: RunSpec, after: RunSpec) -> str:
    """Return what differs, as in a diff of spec files: a line for each field and side that has it.

    Fields are dotted paths, values as in YAML. A side without a line has the field's default.
    """
    sides = (("-", _fields_to_write(before)), ("+", _fields_to_write(after)))
    fields = sorted({path for _, written in sides for path in written})
    lines = [
        f"{sign} {path}: {_yaml_value(written[path])}"
        for path in fields
        for sign, written in sides
        if path in written and not all(other.get(path) == written[path] for _, other in sides)
    ]
    return "\n".join(lines)


def as_python(spec: RunSpec) -> str:
    """Return a program that runs the spec and waits for its end."""
    fields = pprint.pformat(_document(spec), sort_dicts=False, width=88)
    return (
        "from strategy_core.launcher.launcher import Launcher\n"
        "from strategy_profiles.spec.run_spec import parse_spec\n"
        "\n"
        f"spec = parse_spec(\n    {fields.replace(chr(10), chr(10) + '    ')}\n)\n"
        "with Launcher() as launcher:\n"
        '    run = launcher.launch(spec, "runs/again")\n'
        "    run.wait()\n"
        "print(run.status)\n"
    )


def _fields_to_write(spec: RunSpec) -> dict[str, Any]:
    """The fields to write, by dotted path."""
    usual, document = flatten(RunSpec().to_json()), flatten(spec.to_json())
    always = {name: document[name] for name in ALWAYS}
    return always | {
        path: value for path, value in document.items() if path not in usual or value != usual[path]
    }


def _document(spec: RunSpec) -> dict[str, Any]:
    """The same fields, nested as in a spec file."""
    document: dict[str, Any] = {}
    for path, value in _fields_to_write(spec).items():
        *parents, last = path.split(".")
        parent = reduce(lambda fields, name: fields.setdefault(name, {}), parents, document)
        parent[last] = value
    return document


def _words(spec: RunSpec) -> Iterator[list[str]]:
    """Each flag with its value."""
    for path, value in _fields_to_write(spec).items():
        if path == "inject":
            yield from (["--inject", _delay(item)] for item in value)
        elif path == "reconfigure":
            for change in value:
                for name, new in change["changes"].items():
                    yield ["--reconfigure", f"{change['step']}:{name}={_yaml_value(new)}"]
        elif path in FLAG_FIELDS and value is not None:
            yield _flag(path, str(value))
        else:
            yield ["--set", f"{path}={_yaml_value(value)}"]


def _flag(field: str, value: str) -> list[str]:
    # A value that begins with a dash would be taken for a flag.
    return [f"{flag_of(field)}={value}"] if value.startswith("-") else [flag_of(field), value]


def _delay(delay: Mapping[str, Any]) -> str:
    worker = f",worker={delay['worker']}" if delay["worker"] else ""
    return f"delay:replica={delay['replica']},ms={_yaml_value(delay['ms'])}{worker}"


def _yaml_value(value: Any) -> str:
    """A value as YAML on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=math.inf)
    return text.removesuffix("...\n").rstrip("\n")
