"""Where the pictures of a film come from, in sentences for its viewer."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_film.rows import Rows
from strategy_film.scene import Exchange
from strategy_profiles.reporting import units

RING_SCHEDULE = (
    "Pulses around the ring: schedule derived from the algorithm, times measured at both ends."
)
UNKNOWN_SCHEDULE = (
    "How {algorithm} passes the pieces on inside a collective is not recorded: the members are "
    "drawn as one group."
)


def notes(rows: Rows, joined: Sequence[Exchange], is_served: bool) -> tuple[str, ...]:
    """Return what a viewer must know of this film's sources."""
    found = []
    if any(exchange.ring for exchange in joined):
        found.append(RING_SCHEDULE)
    if any(exchange.ring is None and exchange.source != "derived" for exchange in joined):
        algorithm = rows.segment.cross_device_ops or "the runtime"
        found.append(UNKNOWN_SCHEDULE.format(algorithm=algorithm))
    if rows.transfers.num_rows:
        found.append(
            "Tensors sent between devices: times measured at both ends. The edge of one that is "
            "too short to see lights up for a moment."
        )
    marked = [replica for replica, own in rows.own.items() if own.source == "marks"]
    if is_served:
        found.append(
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
        found.append(f"From in-graph timestamps, not from a capture: {which}.")
    return tuple(found)
