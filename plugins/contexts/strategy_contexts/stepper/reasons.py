"""Why control moves: one sentence for each step of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_ENTER = {
    "scope": "Variables that are created inside belong to the strategy: it decides how many copies "
    "they get and on which devices.",
    "run": "The function is meant for one replica; the strategy calls it once for each.",
    "call_for_each_replica": "run has entered the strategy's scope: no replica has started yet, so "
    "this is cross-replica context.",
    "enter replica": "From here get_replica_context() answers for this replica alone. It has its "
    "own part of every per-replica value and the copy of a variable on its device.",
    "all_reduce": "A replica sees only its own value, so the sum needs all of them. TensorFlow "
    "does it by a merge_call.",
    "all_gather": "A replica sees only its own value; every replica has to make this call before "
    "any gets the whole.",
    "reduce": "The value has one component per replica on different devices; the caller wants one "
    "tensor.",
    "gather": "The value has one component per replica on different devices; the caller wants them "
    "in one tensor.",
    "reduce_to": "The destination decides where the sum is put: a variable gets a copy on each of "
    "its devices, so that the next call finds it there.",
    "batch_reduce_to": "Several reductions in one request can be packed into fewer, larger "
    "messages.",
    "batch_all_reduce": "All replicas have handed over, so their values can be reduced in one "
    "request.",
    "update": "A variable has a copy on several devices. Each copy is changed on its own device, "
    "so that the new value does not travel.",
    "enter update": "The function gets one copy of the variable and the arguments' components on "
    "the same device. It runs once for each copy, not once for each replica's step.",
    "update_non_slot": "Some variables belong to no replica; they are changed where they are.",
    "broadcast_to": "One value has to be on every device that holds a copy of the destination.",
    "read_var": "A variable has several copies or components; the reader wants one value.",
    "experimental_local_results": "Outside of a replica a per-replica value cannot be computed "
    "with: its components have to be taken out first.",
    "experimental_distribute_dataset": "Every replica needs its own share of each global batch.",
    "distribute_datasets_from_function": "The program makes the dataset of each input pipeline "
    "itself; the strategy tells it which one.",
    "experimental_distribute_values_from_function": "Each replica needs a value of its own; the "
    "function is asked once for each.",
}
_LEAVE = {
    "scope": "Control is where it was before: variables from here on are plain again.",
    "enter replica": "This replica is done; its result waits for those of the others.",
    "enter update": "This copy has its new value.",
    "run": "The replicas' results are one value with a component for each; a result that is the "
    "same object on all of them stays that object.",
    "merge_call": "The replica goes on, with its part of the merge function's result.",
    "all_reduce": "Every replica has the same result, and its own copy of it.",
}


def reason(
    entry: Mapping[str, Any],
    waiting: Sequence[int | None],
    replicas: Sequence[int],
    *,
    leaves: bool = False,
    is_merged: bool = False,
) -> str:
    """Why control makes this step; "" for a call of which there is no more to say.

    `waiting` are the replicas that are in a merge_call already, `replicas` all that were entered.
    """
    call = entry["call"]
    if leaves:
        return "" if entry["error"] else _LEAVE.get(call, _result(entry["value_out"]))
    if call == "merge_call" and entry["context"] == "replica":
        present = {*waiting, entry["replica"]}
        missing = [str(replica) for replica in replicas if replica not in present]
        if missing:
            return (
                "The merge function needs the values of all replicas. This replica stops here "
                f"until replica {' and '.join(missing)} makes the same call."
            )
        return "Every replica has made this call, so the merge function can run."
    if is_merged and call not in _ENTER:
        return (
            "One function for all replicas: it runs once, in cross-replica context, and each "
            "argument has one component per replica."
        )
    return _ENTER.get(call, "")


def _result(value: Mapping[str, Any] | None) -> str:
    locality = value["locality"] if value and value["components"] else ""
    if locality.startswith("V("):
        return f"The result is on every device of {locality[2:-1]}, beside its copies."
    if locality == "M":
        return "The result is the same for every replica, with a copy for each."
    if value and locality == "T":
        is_one = len(value["components"]) == 1
        return "The result is one tensor." if is_one else "The result has one value per replica."
    return ""
