"""`docs/run-folder.md` from the schema of events and of `run.json`.

python -m profiles.run_folder_reference > docs/run-folder.md
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from strategy_lab.profiles.run import event_parts, manifest
from strategy_lab.profiles.run.events import Event, Recorded, kind_of
from strategy_lab.profiles.spec import limits
from strategy_lab.profiles.spec.limits import LARGEST

_HEAD = f"""# The run folder

<!-- Made by `python -m strategy_lab.profiles.run.reference`; a test compares. -->

Where each file is: `profiles/run/layout.py`. Columns of the Parquet tables:
`profiles/tables/schema.py`.

`run.json` is one JSON object, written once. `events.jsonl` of each process and `launcher.jsonl`
hold one JSON object per line, each an event with its `kind`. Readers ignore fields that they do not
know. A line that does not fit the tables below is left out; the run's notes say how many lines, of
which kind, and why, and how many lines are missing by the numbers of those that are there. NaN and
Infinity are not JSON: a line with one of them is left out as well.

## Limits

| what | at most |
| --- | --- |
| bytes of a line | {limits.LONGEST_LINE_BYTES:,} |
| bytes of `run.json` | {limits.LARGEST_RUN_FILE_BYTES:,} |
| levels of nesting in a free-form object | {limits.DEEPEST} |
| characters of a name; of a text | {limits.LONGEST_NAME:,}; {limits.LONGEST_TEXT:,} |
| workers; replicas; segments | {limits.MOST_WORKERS:,}; {limits.MOST_REPLICAS:,}; \
{limits.MOST_SEGMENTS:,} |
| counts, sizes and times | 2^62 - 1 |

A writer cuts texts that are too long. An event that still does not fit is written as a `note` that
says so.
"""


def reference() -> str:
    """The page."""
    parts = [_HEAD, _section("`run.json`", manifest.RunIdentity)]
    parts += [_section(f"`{kind_of(event)}`", event) for event in get_args(Event)]
    nested = [event_parts, manifest]
    parts += [
        _section(name, found)
        for module in nested
        for name, found in vars(module).items()
        if isinstance(found, type)
        and issubclass(found, Struct)
        and found.__module__ == module.__name__
        and found is not manifest.RunIdentity
    ]
    return "\n".join(parts)


def _section(title: str, struct: type[Struct]) -> str:
    of_every_event = _described(Recorded) if issubclass(struct, Recorded) else {}
    described = _described(struct) | of_every_event
    hints = get_type_hints(struct, include_extras=True)
    rows = [
        f"| `{field.name}` | {_type(hints[field.name])} | {_needed(field)} | "
        f"{described.get(field.name, '')} |"
        for field in sorted(
            msgspec.structs.fields(struct), key=lambda field: field.name in of_every_event
        )
    ]
    about = " ".join((inspect.getdoc(struct) or "").split())
    table = ["| field | type | needed | |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([f"## {title}", "", about, "", *table, ""])


def _described(struct: type[Struct]) -> dict[str, str]:
    """The text below each field in the source."""
    tree = ast.parse(inspect.getsource(struct)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        is_field = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if is_field and is_text:
            found[before.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def _needed(field: msgspec.structs.FieldInfo) -> str:
    return "yes" if field.required else ""


def _type(hint: Any) -> str:  # noqa: PLR0911  one line for each form of a type
    """A type as a reader of the page says it, with its range."""
    origin = get_origin(hint)
    if origin is Annotated:
        plain, *metas = get_args(hint)
        limits_ = [text for meta in metas if isinstance(meta, Meta) for text in _range(meta)]
        return " ".join([_type(plain), *limits_])
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in get_args(hint))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin is list:
        return f"list of {_type(get_args(hint)[0])}"
    if origin is tuple:
        return f"[{', '.join(map(_type, get_args(hint)))}]"
    if origin is dict:
        value = get_args(hint)[1]
        return "object" if value is Any else f"object of {_type(value)}"
    names = {int: "integer", float: "number", str: "text", bool: "boolean", type(None): "null"}
    return names.get(hint) or hint.__name__


def _range(meta: Meta) -> Iterator[str]:
    if meta.ge is not None and abs(meta.ge) not in (0, LARGEST, limits.LONGEST_MS):
        yield f"from {_number(meta.ge)}"
    highest = meta.le if meta.le is not None else meta.lt
    if highest is not None and abs(highest) not in (LARGEST, limits.LONGEST_MS):
        yield f"{'to' if meta.le is not None else 'below'} {_number(highest)}"
    if meta.pattern:
        yield f"like `{meta.pattern}`"
    if meta.min_length is not None:
        yield f"of {meta.min_length}"


def _number(value: float) -> str:
    power = int(value).bit_length() - 1
    return f"2^{power}" if value == 2**power and power > 20 else f"{value:,}"


if __name__ == "__main__":
    sys.stdout.write(reference())
