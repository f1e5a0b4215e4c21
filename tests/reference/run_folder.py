"""`docs/run-folder.md` from the schema of events and of `run.json`.

python -m tests.reference.run_folder > docs/run-folder.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from strategy_profiles.run import event_parts, layout, manifest
from strategy_profiles.run.events import Event, Recorded, kind_of
from strategy_profiles.spec import limits
from strategy_profiles.spec.limits import LARGEST
from tests.reference.attribute_docs import attribute_docs

_LAYOUT = inspect.cleandoc(layout.__doc__ or "").partition("\n\n")[2]
_HEAD = f"""# The run folder

<!-- Made by `python -m tests.reference.run_folder`; a test compares. -->

```
{_LAYOUT}
```

The columns of the Parquet tables are in [tables](tables.md).

`run.json` is one JSON object, written once and replaced as a whole when the run is renamed or
tagged. Its `values_crc32` is the CRC-32, in hexadecimal digits, of its other fields as JSON with
sorted keys and without spaces. If it differs, `run.json` is damaged: the run's pages show what the
events say, and a note says so. `events.jsonl` of each process and `launcher.jsonl`
hold one JSON object per line, each an event with its `kind`. Readers ignore fields that they do not
know. A line that does not fit the tables below is left out; the run's notes say how many lines, of
which kind, and why, and how many lines are missing by the numbers of those that are there. NaN and
Infinity are not JSON: a line with one of them is left out as well.

The last key of a line is `line_crc32`, the CRC-32 of the bytes before it in hexadecimal digits, as
in `{{"kind":"note","level":"info","message":"x","line":7,"line_crc32":"41f7c6bf"}}`. A line whose
checksum does not fit is left out. Lines of earlier versions have none and are read all the same.

`events.columns` has the events of the first lines of `events.jsonl` a second time, with the steps
and memory samples as columns, which are read faster. Each of its blocks has the checksum of the
lines that it covers. If it is missing, damaged, of other lines or of another version, readers use
the lines: it may be deleted.

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


def structs() -> dict[str, type[Struct]]:
    """Title and class of every section."""
    nested = {
        name: kind
        for module in (event_parts, manifest)
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, Struct)
        and kind.__module__ == module.__name__
        and kind is not manifest.RunIdentity
    }
    events = {f"`{kind_of(event)}`": event for event in get_args(Event)}
    return {"`run.json`": manifest.RunIdentity, **events, **nested}


def reference() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_section(title, struct) for title, struct in structs().items())])


def _section(title: str, struct: type[Struct]) -> str:
    of_every_event = attribute_docs(Recorded) if issubclass(struct, Recorded) else {}
    texts = described(struct)
    hints = get_type_hints(struct, include_extras=True)
    rows = [
        f"| `{field.name}` | {_type(hints[field.name])} | {_needed(field)} | {texts[field.name]} |"
        for field in sorted(
            msgspec.structs.fields(struct), key=lambda field: field.name in of_every_event
        )
    ]
    about = " ".join((inspect.getdoc(struct) or "").split())
    table = ["| field | type | needed | |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([f"## {title}", "", about, "", *table, ""])


def described(struct: type[Struct]) -> dict[str, str]:
    """What each field means: the text below it in the source, else that of its type."""
    hints = get_type_hints(struct, include_extras=True)
    texts = {name: _of_type(hint) for name, hint in hints.items()}
    for base in (Recorded, struct) if issubclass(struct, Recorded) else (struct,):
        texts |= attribute_docs(base)
    return texts


def _of_type(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return next((text for text in map(_of_type, get_args(hint)) if text), "")
    metas = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((meta.description for meta in metas if meta.description), "")


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
    if meta.extra and "unit" in meta.extra:
        yield f"({meta.extra['unit']})"


def _number(value: float) -> str:
    power = int(value).bit_length() - 1
    return f"2^{power}" if value == 2**power and power > 20 else f"{value:,}"


if __name__ == "__main__":
    sys.stdout.write(reference())
