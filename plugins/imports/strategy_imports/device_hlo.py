"""Which instruction of a compiled program each event of a device ran."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from strategy_imports.event_names import ran_as
from strategy_imports.proto_fields import signed
from strategy_imports.recording import EventKind, HloOp, Ints, Line, Plane
from strategy_profiles.tables.columns import distinct

Programs = Mapping[int, Mapping[str, HloOp]]


def hlo_of_events(plane: Plane, line: Line, programs: Programs) -> tuple[Ints, list[HloOp]]:
    """Return the index of each event's instruction, -1 if it is not known, and the instructions.

    A GPU's event names program and instruction itself, a TPU core's by its kind.
    """
    of_kinds = [_of_kind(kind, programs) for kind in plane.kinds]
    found = [each for each in of_kinds if each is not None]
    index_of_kind = np.full(len(of_kinds) + 1, -1, np.int64)
    has_one = np.asarray([*(each is not None for each in of_kinds), False], bool)
    index_of_kind[has_one] = np.arange(len(found))
    index = index_of_kind[line.kind]
    names, ids = line.stats.get("hlo_op"), line.stats.get("program_id")
    if names is None or ids is None or not programs:
        return index, found
    (names, name_of), (ids, id_of) = distinct(names), distinct(ids)
    pairs, place = distinct(id_of * len(names) + name_of)
    of_pairs = [
        programs.get(int(ids[program]), {}).get(plane.texts.get(int(names[name]), ""))
        for program, name in (divmod(pair, len(names)) for pair in pairs.tolist())
    ]
    index_of_pair = np.full(len(pairs), -1, np.int64)
    for number, op in enumerate(of_pairs):
        if op is not None:
            index_of_pair[number] = len(found)
            found.append(op)
    by_event = index_of_pair[place]
    return np.where(by_event >= 0, by_event, index), found


def _of_kind(kind: EventKind, programs: Programs) -> HloOp | None:
    program, source = kind.stats.get("program_id"), kind.stats.get("source")
    if isinstance(program, int):
        found = programs.get(signed(program), {}).get(ran_as(kind))
        if found is not None:
            return found
    if not isinstance(source, str):
        return None
    return HloOp(ran_as(kind), source_line=source)
