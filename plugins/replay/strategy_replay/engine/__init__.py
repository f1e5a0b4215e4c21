"""Replay a captured step: a simulator over the graph of its ops, and what would change with it.

    found = what_if(profile, 0, [RemoveDelay()])
    found.measured_ms, found.predicted_ms, found.replay_error

An op starts when its inputs are there and its thread is free, after a launch gap that is modelled
from other steps. `model.md` of this leaf defines the error and the interval.
"""
