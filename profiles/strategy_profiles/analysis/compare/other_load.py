"""Did others use more of the machine while one side of a comparison trained?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from strategy_profiles.analysis.machine_load import NOTABLE_SHARE, MachineLoad, takers


def busier_for_one_side(
    a: Sequence[MachineLoad | None], b: Sequence[MachineLoad | None]
) -> str | None:
    """Return a warning if others used clearly more cores during one side.

    Others are programs outside of the run, and other virtual machines. None also if a run was not
    sampled.
    """
    loads = [load for load in (*a, *b) if load is not None]
    if len(loads) < len(a) + len(b):
        return None
    ours, theirs = _mean_cores(a), _mean_cores(b)
    num_cores = max(load.num_cores for load in loads)
    if abs(ours - theirs) < NOTABLE_SHARE * num_cores:
        return None
    (busy, name), (quiet, other) = sorted(((ours, "A"), (theirs, "B")), reverse=True)
    return (
        f"{takers(loads)} used {busy:.1f} of the machine's {num_cores} CPU cores while {name} "
        f"trained, and {quiet:.1f} while {other} did: part of the difference may be theirs. Record "
        "both again in turns (strategy-lab run --interleave, --repeat auto)."
    )


def _mean_cores(side: Sequence[MachineLoad | None]) -> float:
    known = [load.taken_cores for load in side if load is not None]
    return math.fsum(known) / len(known)
