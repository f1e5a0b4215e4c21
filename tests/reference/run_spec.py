"""`docs/run-spec.md` from the model of a RunSpec.

python -m tests.reference.run_spec > docs/run-spec.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from strategy_profiles.spec import run_spec
from tests.reference.attribute_docs import attribute_docs

_HEAD = """# RunSpec

<!-- Made by `python -m tests.reference.run_spec`; a test compares. -->

A RunSpec is the request for a run: a YAML or JSON file (`strategy-lab run spec.yaml`), flags and
`--set KEY=VALUE` of the [command line](cli.md), or the form on the page. Every field has a default.

```yaml
strategy: mirrored
devices: cpu:4
steps: 200
capture: {every_step: true}
inject: [{replica: 2, ms: 30}]
reconfigure: [{step: 100, changes: {devices: "cpu:2"}}]
```

A field of a group is set by its dotted path: `--set capture.every_step=true`. What can change while
a run goes on is refused with a sentence where it cannot.
"""
_BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
_NAMES = {int: "integer", float: "number", str: "text", bool: "boolean", NoneType: "null"}


def fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo, str]]:
    """Every field by its dotted path, with its meaning; the fields of a group after it."""
    texts = attribute_docs(model)
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", field, texts.get(name, "").replace("None:", "null:")
        if isinstance(group := field.annotation, type) and issubclass(group, BaseModel):
            yield from fields(group, f"{prefix}{name}.")


def sections() -> dict[str, type[BaseModel]]:
    """Title and model of each table of the page."""
    return {
        "Fields": run_spec.RunSpec,
        "A delay of `inject`": run_spec.Delay,
        "A change of `reconfigure`": run_spec.ScriptedChange,
    }


def reference() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_section(title, model) for title, model in sections().items())])


def _section(title: str, model: type[BaseModel]) -> str:
    rows = [
        f"| `{path}` | {_takes(field)} | {_default(field)} | {text} |"
        for path, field, text in fields(model)
    ]
    head = ["| field | takes | default | |", "| --- | --- | --- | --- |"]
    return "\n".join([f"## {title}", "", *head, *rows, ""])


def _takes(field: FieldInfo) -> str:
    bounds = [
        f"{word} {_number(getattr(item, key))}"
        for key, word in _BOUNDS.items()
        for item in field.metadata
        if hasattr(item, key)
    ]
    return " ".join([_type(field.annotation), *bounds])


def _number(limit: float) -> str:
    return (
        f"2^{limit.bit_length() - 1}"
        if isinstance(limit, int) and limit >= 2**31
        else f"{limit:,.12g}"
    )


def _type(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in args)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin is tuple:
        return f"list of {_type(args[0])}" if args[-1] is ... else f"{len(args)} integers"
    if origin is dict:
        return "object"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return "a group" if hint not in sections().values() else hint.__name__
    return _NAMES.get(hint) or str(hint)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel) or value in ((), {}):
        return ""
    return f"`{json.dumps(value)}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
