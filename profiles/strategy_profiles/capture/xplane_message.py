"""The XSpace message, declared here so that reading one needs no TensorFlow.

Field numbers are those of tsl/profiler/protobuf/xplane.proto, with one deliberate difference:
`XLine.events` is `repeated bytes`, which has the same wire format as `repeated XEvent`. Protobuf
then only slices the file, and `wire` decodes millions of events at once.

The message is in its own descriptor pool, because TensorFlow's XSpace may be loaded in the same
process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "double": _FIELD.TYPE_DOUBLE,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}
Messages: TypeAlias = Mapping[str, Sequence[tuple[str, int, str]]]
"""By name of a message its fields: name, number, type. A star means repeated."""
_MESSAGES: Messages = {
    "XSpace": [
        ("planes", 1, "*XPlane"),
        ("errors", 2, "*bytes"),
        ("warnings", 3, "*bytes"),
        ("hostnames", 4, "*string"),
    ],
    "XPlane": [
        ("name", 2, "string"),
        ("lines", 3, "*XLine"),
        ("event_metadata", 4, "*EventMetadataEntry"),
        ("stat_metadata", 5, "*StatMetadataEntry"),
        ("stats", 6, "*XStat"),
    ],
    "EventMetadataEntry": [("key", 1, "int64"), ("value", 2, "XEventMetadata")],
    "StatMetadataEntry": [("key", 1, "int64"), ("value", 2, "XStatMetadata")],
    "XLine": [
        ("id", 1, "int64"),
        ("name", 2, "string"),
        ("timestamp_ns", 3, "int64"),
        ("events", 4, "*bytes"),
    ],
    "XStat": [
        ("metadata_id", 1, "int64"),
        ("double_value", 2, "double"),
        ("uint64_value", 3, "uint64"),
        ("int64_value", 4, "int64"),
        ("str_value", 5, "bytes"),
        ("ref_value", 7, "uint64"),
    ],
    "XEventMetadata": [
        ("id", 1, "int64"),
        ("name", 2, "bytes"),
        ("display_name", 4, "bytes"),
        ("stats", 5, "*XStat"),
    ],
    "XStatMetadata": [("id", 1, "int64"), ("name", 2, "bytes")],
}
"""Names are bytes, because a node's name need not be valid UTF-8."""


def classes_of(messages: Messages) -> Callable[[str], Any]:
    """Return a function from a message's name to its generated class, in a pool of its own."""
    file = descriptor_pb2.FileDescriptorProto(
        name="strategy_lab/messages.proto", package="strategy_lab", syntax="proto3"
    )
    for message, fields in messages.items():
        declared = file.message_type.add(name=message)
        for name, number, kind in fields:
            repeated = kind.startswith("*")
            plain = kind.lstrip("*")
            field = declared.field.add(
                name=name,
                number=number,
                type=_TYPES.get(plain, _FIELD.TYPE_MESSAGE),
                label=_FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL,
            )
            if plain not in _TYPES:
                field.type_name = f".strategy_lab.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    @cache
    def message_class(name: str) -> Any:
        descriptor = pool.FindMessageTypeByName(f"strategy_lab.{name}")
        return message_factory.GetMessageClass(descriptor)

    return message_class


message_class = classes_of(_MESSAGES)
