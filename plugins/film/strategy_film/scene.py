"""What a film shows, as data. Times are nanoseconds since the film's start, on one clock.

Written to JSON, a dataclass is an object and a NamedTuple an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Names:
    """Numbers texts in the order in which they are first used."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self.texts: list[str] = []

    def index(self, text: str | None) -> int:
        word = text or ""
        if word not in self._places:
            self._places[word] = len(self.texts)
            self.texts.append(word)
        return self._places[word]


Layout = Literal["ring", "hub", "rows", "servers"]


class State(NamedTuple):
    """A node is in one phase. The states of a node cover the film without overlap."""

    start_ns: int
    end_ns: int
    phase: str
    """As in `strategy_profiles.reporting.palette`, or `outside`: the replica's own step has not
    begun yet, or is over."""


class ShownOp(NamedTuple):
    """The op shown on a node: the longest of those that run."""

    start_ns: int
    end_ns: int
    name: int
    """Index into `Scene.names`."""


class SentTensor(NamedTuple):
    """A tensor's way from one node to another, measured at both ends."""

    start_ns: int
    end_ns: int
    sender: int
    receiver: int
    bytes: int | None
    name: int


class Member(NamedTuple):
    """A node's part in a collective."""

    node: int
    entered_ns: int
    end_ns: int


class Wait(NamedTuple):
    """A node waits for another one, which is known."""

    start_ns: int
    end_ns: int
    node: int
    awaited: int


class PathPiece(NamedTuple):
    """A piece of the critical path: from `start_ns` to `end_ns` it runs through this node."""

    start_ns: int
    end_ns: int
    node: int


class Caption(NamedTuple):
    """What is most important from `start_ns` until the next caption."""

    start_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A replica, or a device or server that exchanges data with replicas."""

    title: str
    device: str
    """Its short name."""
    group: int
    """Index into `Scene.groups`."""
    replica: int | None
    source: Literal["measured", "marks"] | None
    states: tuple[State, ...]
    ops: tuple[ShownOp, ...]


@dataclass(frozen=True, slots=True)
class Ring:
    """The schedule of a ring: in each round, every member sends one piece to the next one.

    The capture measures when a member enters and is done. The rounds are drawn at equal distances
    between the last entry and the receiver's end.
    """

    rounds: int
    hop_bytes: float | None
    """Of one member in one round; all rounds add up to the ring share of the definitions."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One execution of a collective."""

    op: str
    name: int
    bytes: int | None
    """Size S, as nccl-tests counts it."""
    source: str
    """`measured`, `marks`, or `derived` if it consists of sends (then see `sent_tensors`)."""
    members: tuple[Member, ...]
    all_entered_ns: int
    ring: Ring | None

    @property
    def first_entered_ns(self) -> int:
        return min(member.entered_ns for member in self.members)

    @property
    def end_ns(self) -> int:
        return max(member.end_ns for member in self.members)

    @property
    def last(self) -> int:
        """The node that enters last."""
        return max(self.members, key=lambda member: member.entered_ns).node


@dataclass(frozen=True, slots=True)
class Scene:
    """One step."""

    run: str
    title: str
    segment: int
    step: int
    length_ns: int
    poster_ns: int
    """The moment that a film opens on."""
    layout: Layout
    hub: int | None
    """The node in the middle."""
    groups: tuple[str, ...]
    """Titles of the processes; a single one has none."""
    nodes: tuple[Node, ...]
    exchanges: tuple[Exchange, ...]
    sent_tensors: tuple[SentTensor, ...]
    waits: tuple[Wait, ...]
    path: tuple[PathPiece, ...]
    captions: tuple[Caption, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]
