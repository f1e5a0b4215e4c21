"""Replay a captured step: a graph of its ops, a simulator over it, and what would change with it.

    found = what_if(profile, 0, [RemoveDelay()])
    found.measured_ms, found.predicted_ms, found.replay_error

An op starts when its inputs are there and its thread is free, after a launch gap that is modelled
from other steps. docs/replay.md defines the error and the interval. Advice and sentences about a
whole run belong to `analysis`.
"""
