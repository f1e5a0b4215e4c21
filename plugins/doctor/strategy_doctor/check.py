"""One thing that `strategy-lab doctor` looks at, with what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """`missing` limits what the lab can do; `broken` keeps training from running."""

    key: str
    title: str
    state: State
    found: str
    """What is there, or why it is not."""
    costs: str = ""
    """What does not work without it; empty if nothing is missing."""
    advice: str = ""


def present(key: str, title: str, state: str) -> Check:
    return Check(key, title, "ok", state)


def missing(key: str, title: str, state: str, costs: str, advice: str = "") -> Check:
    return Check(key, title, "missing", state, costs, advice)


def broken(key: str, title: str, state: str, advice: str) -> Check:
    return Check(key, title, "broken", state, "training cannot run", advice)
