"""Makes the scene of a step from a run's tables."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_film.captions import Captions
from strategy_film.critical_path import critical_path
from strategy_film.poster import poster
from strategy_film.rows import OwnStep, Rows, rows_of
from strategy_film.scene import Exchange, Layout, Names, Node, Scene, SentTensor, ShownOp
from strategy_film.served import served_phases, served_tensors, server_bytes
from strategy_film.states import partition, with_wait_at_the_end
from strategy_film.steps import FilmStep
from strategy_film.traffic import exchanges, sent_tensors, waits
from strategy_profiles.capture.graph import RECEIVES
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import Bools, Floats, Ints, floats, ints, is_one_of
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.one_clock import MARKED

RING_SCHEDULE = (
    "Pulses around the ring: schedule derived from the algorithm, times measured at both ends."
)
UNKNOWN_SCHEDULE = (
    "How {algorithm} passes the pieces on inside a collective is not recorded: the members are "
    "drawn as one group."
)


def notes(rows: Rows, joined: Sequence[Exchange], is_served: bool) -> tuple[str, ...]:
    """Return what a viewer must know of this film's sources."""
    texts = []
    if any(exchange.ring for exchange in joined):
        texts.append(RING_SCHEDULE)
    if any(exchange.ring is None and exchange.source != "derived" for exchange in joined):
        algorithm = rows.segment.cross_device_ops or "the runtime"
        texts.append(UNKNOWN_SCHEDULE.format(algorithm=algorithm))
    if rows.transfers.num_rows:
        texts.append(
            "Tensors sent between devices: times measured at both ends. The edge of one that is "
            "too short to see lights up for a moment."
        )
    marked = [replica for replica, own in rows.own.items() if own.source == "marks"]
    if is_served:
        texts.append(
            "Workers of parameter servers do not share a step: the film shows what all of them "
            "do during one step of one worker, from its timestamps. Bytes are derived from the "
            "variables' sizes."
        )
    elif marked:
        which = (
            "all replicas"
            if len(marked) == len(rows.own)
            else units.listed([f"replica {replica}" for replica in marked])
        )
        texts.append(f"From in-graph timestamps, not from a capture: {which}.")
    return tuple(texts)


def shown_ops(start: Ints, end: Ints, name: Ints, length_ns: int) -> tuple[ShownOp, ...]:
    """Return disjoint ops within the film, from spans that may overlap."""
    order = sorted(range(len(start)), key=lambda at: start[at])
    spans = [(int(start[at]), int(end[at]), int(name[at])) for at in order]
    ops: list[ShownOp] = []
    running: list[tuple[int, int, int]] = []  # the longest first: (-length, end, name)
    edges = sorted({edge for begun, ended, _ in spans for edge in (begun, ended)})
    following = 0
    for at, until in pairwise(edges):
        while following < len(spans) and spans[following][0] <= at:
            begun, ended, which = spans[following]
            heapq.heappush(running, (begun - ended, ended, which))
            following += 1
        while running and running[0][1] <= at:
            heapq.heappop(running)
        if running:
            _append(ops, max(at, 0), min(until, length_ns), running[0][2])
    return tuple(ops)


def _append(ops: list[ShownOp], start: int, end: int, name: int) -> None:
    if end <= start:
        return
    if ops and ops[-1].name == name and ops[-1].end_ns == start:
        ops[-1] = ShownOp(ops[-1].start_ns, end, name)
    else:
        ops.append(ShownOp(start, end, name))


_WORK = ("delay", "compute", "transfer", "collective", "input", "other")


def make_scene(profile: Profile, step: FilmStep) -> Scene:
    """Return the film of a step that `film_steps` gave."""
    rows, names = rows_of(profile, step), Names()
    servers = server_bytes(profile, step.segment) if has_servers(rows.segment) else {}
    workers = sorted({item.worker for item in rows.own.values()} | servers.keys())
    groups = {worker: number for number, worker in enumerate(workers)}
    nodes = [_replica(rows, replica, groups, names) for replica in rows.own]
    node_of = _devices(rows)
    if servers:
        titles = profile.process_titles
        nodes += [
            _still(titles.get(process, f"process {process}"), "", groups[process])
            for process in servers
        ]
        moved = served_tensors(rows, servers, names)
    else:
        others = _other_devices(rows, node_of)
        node_of |= {device: len(nodes) + number for number, device in enumerate(others)}
        short = short_names([*others, *node_of])
        group_at = {
            _process_part(item.device or ""): groups[item.worker] for item in rows.own.values()
        }
        nodes += [
            _still(short[device], short[device], group_at.get(_process_part(device), 0))
            for device in others
        ]
        moved = sent_tensors(rows, node_of, names)
    joined = exchanges(rows, node_of, names)
    waited = waits(rows, joined, moved, names)
    path = () if servers else critical_path(nodes, waited, rows.length_ns)
    said = Captions(rows.length_ns, nodes, joined, moved, waited).all()
    layout, hub = _layout(bool(servers), len(workers), nodes, joined, moved)
    return Scene(
        run=profile.name,
        title=_title(rows),
        segment=step.segment,
        step=step.step,
        length_ns=rows.length_ns,
        poster_ns=poster(joined, nodes, said, rows.length_ns),
        layout=layout,
        hub=hub,
        groups=tuple(profile.process_titles.get(worker, f"worker {worker}") for worker in workers)
        if len(workers) > 1
        else ("",),
        nodes=tuple(nodes),
        exchanges=joined,
        sent_tensors=moved,
        waits=waited,
        path=path,
        captions=said,
        names=tuple(names.texts),
        notes=notes(rows, joined, bool(servers)),
    )


def _title(rows: Rows) -> str:
    algorithm = rows.segment.cross_device_ops
    parts = [rows.segment.strategy, units.counted(len(rows.own), "replica")]
    if algorithm and algorithm != "none":
        parts.append(algorithm)
    return ", ".join(parts)


def _replica(rows: Rows, replica: int, groups: dict[int, int], names: Names) -> Node:
    own = rows.own[replica]
    short = short_names(item.device or "" for item in rows.own.values())
    spans = rows.spans
    is_own = np.asarray(pc.fill_null(pc.equal(spans["replica"], replica), False))
    is_gap = is_one_of(spans, "op", RECEIVES) & is_one_of(spans, "category", ("wait", "transfer"))
    is_op = is_own & ~is_gap & is_one_of(spans, "category", _WORK)
    is_served = has_servers(rows.segment)
    phases = served_phases(spans, is_own) if is_served else _phases(rows, replica, own, is_own)
    states = partition(phases, own.bounds, rows.whole)
    if own.wait_ns is not None:
        states = with_wait_at_the_end(states, own.wait_ns)
    return Node(
        title=f"worker {replica}" if is_served else f"replica {replica}",
        device=short[own.device or ""],
        group=groups[own.worker],
        replica=replica,
        source=own.source,
        states=states,
        ops=_ops(rows, is_op, names),
    )


def _phases(rows: Rows, replica: int, own: OwnStep, is_own: Bools) -> list[tuple[str, Intervals]]:
    spans = rows.spans
    table = rows.collectives
    mine = np.asarray(pc.fill_null(pc.equal(table["replica"], replica), False))
    mine &= ~is_one_of(table, "source", ("derived",))
    entered, ended = ints(table, "start_ns")[mine], ints(table, "end_ns")[mine]
    moving = entered + _ns(floats(table, "wait_ms")[mine])

    def of(category: str, chosen: Bools) -> Intervals:
        return _intervals(spans, chosen & is_one_of(spans, "category", (category,)))

    is_request = np.asarray(pc.is_null(spans["replica"])) & np.asarray(pc.is_null(spans["op"]))
    is_request &= ints(spans, "worker") == own.worker
    return [
        ("delay", of("delay", is_own)),
        ("compute", of("compute", is_own)),
        ("transfer", of("transfer", is_own) | Intervals.union((moving, ended))),
        ("wait", of("wait", is_own) | Intervals.union((entered, moving))),
        ("input", of("input", is_own | is_request)),
    ]


def _intervals(spans: pa.Table, chosen: Bools) -> Intervals:
    return Intervals.union((ints(spans, "start_ns")[chosen], ints(spans, "end_ns")[chosen]))


def _ns(values_ms: Floats) -> np.ndarray:
    return np.rint(np.nan_to_num(values_ms) * 1e6).astype(np.int64)


def _ops(rows: Rows, chosen: Bools, names: Names) -> tuple[ShownOp, ...]:
    spans = rows.spans.filter(pa.array(chosen))
    texts = zip(spans["name"].to_pylist(), spans["op"].to_pylist(), strict=True)
    index = np.array(
        [names.index((op or name or "").removesuffix(MARKED)) for name, op in texts], np.int64
    )
    return shown_ops(ints(spans, "start_ns"), ints(spans, "end_ns"), index, rows.length_ns)


def _still(title: str, device: str, group: int) -> Node:
    """Return a node of which only the data that it sends and receives is recorded."""
    return Node(title, device, group, None, None, (), ())


def _devices(rows: Rows) -> dict[str, int]:
    """Return the node of each replica's devices."""
    cores = rows.segment.core_devices or [[name] for name in rows.segment.replica_devices]
    nodes = {item.device or "": node for node, item in enumerate(rows.own.values())}
    for replica, devices in enumerate(cores):
        if replica in rows.own:
            nodes |= dict.fromkeys(devices, list(rows.own).index(replica))
    return nodes


def _other_devices(rows: Rows, node_of: dict[str, int]) -> list[str]:
    """Return devices that are no replica's and exchange tensors in the step."""
    table = rows.transfers
    ends = {*table["send_device"].to_pylist(), *table["recv_device"].to_pylist()} - {None}
    return sorted(device for device in ends if device not in node_of)


def _process_part(device: str) -> str:
    """Return the part of a device's name that those of the same process or host share."""
    return device.rpartition("/")[0]


def _layout(
    is_served: bool,
    num_groups: int,
    nodes: Sequence[Node],
    joined: Sequence[Exchange],
    moved: Sequence[SentTensor],
) -> tuple[Layout, int | None]:
    """A hub is a node that takes part in every exchange, where no collective op runs.

    If only two nodes exchange tensors, both do: then it is the one that is no replica.
    """
    if is_served:
        return "servers", None
    if num_groups > 1:
        return "rows", None
    if len(nodes) > 2 and moved and all(item.source == "derived" for item in joined):
        for hub in sorted(range(len(nodes)), key=lambda node: nodes[node].replica is not None):
            if all(hub in (sent_tensor.sender, sent_tensor.receiver) for sent_tensor in moved):
                return "hub", hub
    return "ring", None
