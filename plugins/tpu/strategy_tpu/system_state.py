"""Which TPU systems this program has initialized."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    NEW = "has not been initialized"
    READY = "is initialized"
    SHUT_DOWN = "was shut down"


_states: dict[str, State] = {}


def state_of(name: str) -> State:
    """State of the TPU system `name`: `local`, or the address of a pod's first host."""
    return _states.get(name, State.NEW)


def set_state(name: str, state: State) -> None:
    _states[name] = state
