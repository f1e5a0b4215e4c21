"""What is most important at each moment of a film, in a sentence.

The captions of a collective follow the replicas that enter it, then its transfer; where two
overlap, the larger one counts. Between collectives, the step is cut into stretches of equal length,
and a sentence says what most of each one is spent on, and what is sent in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from strategy_film.scene import Caption, Exchange, Node, SentTensor, Wait
from strategy_profiles.reporting import units

_STRETCHES = 30
_NOTICEABLE = 0.005
"""Share of the step that a wait in a collective must take to have captions."""
_MANY = 6
"""Of more replicas, a caption has only the number."""
_MOST_CLAUSES = 3
_FEWEST_BYTES = 1000
_FEWEST_SHARE = 0.02
"""A caption has what is sent in its stretch from this size on, and this share of the step's."""
_OWN_WORK = ("delay", "compute")
_WORK = (
    ("delay", "is held by the injected delay", "are held by the injected delay"),
    ("compute", "computes", "compute"),
    ("pull", "pulls its variables", "pull their variables"),
    ("push", "pushes its gradients", "push their gradients"),
    ("transfer", "transfers", "transfer"),
    ("input", "waits for its batch", "wait for their batch"),
)


class Stretch(NamedTuple):
    """A part of the film, with what is said meanwhile."""

    start_ns: int
    end_ns: int
    text: str = ""

    def common_ns(self, start_ns: int, end_ns: int) -> int:
        return min(self.end_ns, end_ns) - max(self.start_ns, start_ns)


@dataclass(frozen=True, slots=True)
class Captions:
    """Finds the captions of a scene from its parts."""

    length_ns: int
    nodes: Sequence[Node]
    exchanges: Sequence[Exchange]
    sent_tensors: Sequence[SentTensor]
    waits: Sequence[Wait]

    def all(self) -> tuple[Caption, ...]:
        """Return captions in order of time, the first one at the film's start."""
        captioned: list[Stretch] = []
        by_size = sorted(self.exchanges, key=lambda each: -(each.bytes or 0))
        for exchange in by_size:
            if exchange.source != "derived":
                for part in [*self._entering(exchange), self._moving(exchange)]:
                    captioned += _uncovered(self._inside(part), captioned)
        # What no exchange covers is summarised, in pieces of a length that can be read.
        gaps = _gaps(captioned, self.length_ns)
        pieces = [piece for gap in gaps for piece in self._pieces_of(gap)]
        captioned += [piece._replace(text=self._summary(piece)) for piece in pieces]
        captions: list[Caption] = []
        for start, _, text in sorted(captioned):
            if not captions or captions[-1].text != text:
                captions.append(Caption(start, text))
        return tuple(captions)

    def _inside(self, part: Stretch) -> Stretch:
        return part._replace(
            start_ns=max(part.start_ns, 0), end_ns=min(part.end_ns, self.length_ns)
        )

    def _entering(self, exchange: Exchange) -> list[Stretch]:
        if not is_noticeable(exchange.all_entered_ns - exchange.first_entered_ns, self.length_ns):
            return []
        order = sorted(exchange.members, key=lambda member: member.entered_ns)
        what = f"in the {_exchange_text(exchange)}"
        stretches = []
        for number, (before, after) in enumerate(pairwise(order), 1):
            inside = [member.node for member in order[:number]]
            absent = [member.node for member in order[number:]]
            waiting = f"{self._nodes_text(inside)} {_verb(inside, 'waits', 'wait')} {what}"
            awaited = "the others" if number == 1 and len(absent) > 1 else self._nodes_text(absent)
            text = f"{_capital(waiting)} for {awaited}."
            if len(absent) == 1:
                usual_ns = float(np.median([member.entered_ns for member in order[:-1]]))
                late = units.milliseconds((after.entered_ns - usual_ns) / 1e6)
                text = f"{_capital(awaited)} is {late} late: {waiting}."
            stretches.append(Stretch(before.entered_ns, after.entered_ns, text))
        return stretches

    def _moving(self, exchange: Exchange) -> Stretch:
        took = units.milliseconds((exchange.end_ns - exchange.all_entered_ns) / 1e6)
        who = self._nodes_text([member.node for member in exchange.members])
        text = f"The {_exchange_text(exchange)} runs between {who}"
        if exchange.ring:
            text += f", in {exchange.ring.rounds} rounds around the ring"
        return Stretch(exchange.all_entered_ns, exchange.end_ns, f"{text}: {took}.")

    def _pieces_of(self, gap: Stretch) -> list[Stretch]:
        count = max(1, round((gap.end_ns - gap.start_ns) / self.length_ns * _STRETCHES))
        edges = np.linspace(gap.start_ns, gap.end_ns, count + 1).astype(np.int64).tolist()
        return [Stretch(start, end) for start, end in pairwise(edges) if end > start]

    def _summary(self, stretch: Stretch) -> str:
        by_phase: defaultdict[str, list[int]] = defaultdict(list)
        for number, node in enumerate(self.nodes):
            phase = main_phase(node, stretch)
            if phase is not None:
                by_phase[phase].append(number)
        said = [*self._sent(stretch), *self._waiting(by_phase["wait"], stretch)]
        said += [
            f"{self._nodes_text(by_phase[phase])} {_verb(by_phase[phase], one, many)}"
            for phase, one, many in _WORK
            if by_phase[phase]
        ]
        if said:
            return f"{_capital('; '.join(said[:_MOST_CLAUSES]))}."
        if by_phase["outside"] and not by_phase["idle"]:
            return f"{_capital(self._nodes_text(by_phase['outside']))}: outside of this step."
        return "No replica runs an op: Python and the runtime are between ops."

    def _waiting(self, waiting: list[int], stretch: Stretch) -> list[str]:
        """Return who waits for whom; a wait of which the other side is unknown is for a tensor.

        After its last op, a replica waits for those of the others.
        """
        by_awaited: defaultdict[int | str, list[int]] = defaultdict(list)
        for node in waiting:
            known: Counter[int | None] = Counter({None: 0})
            for wait in self.waits:
                if wait.node == node and stretch.common_ns(wait.start_ns, wait.end_ns) > 0:
                    known[wait.awaited] += stretch.common_ns(wait.start_ns, wait.end_ns)
            awaited = known.most_common(1)[0][0]
            if awaited is None:
                by_awaited[self._unknown(node, stretch)].append(node)
            else:
                by_awaited[awaited].append(node)
        return [
            f"{self._nodes_text(nodes)} {_verb(nodes, 'waits', 'wait')} for "
            f"{awaited if isinstance(awaited, str) else self._nodes_text([awaited])}"
            for awaited, nodes in by_awaited.items()
        ]

    def _unknown(self, node: int, stretch: Stretch) -> str:
        ops = self.nodes[node].states
        works_on = any(s.phase in _OWN_WORK and s.end_ns > stretch.end_ns for s in ops)
        return "a tensor" if works_on else "the others to end"

    def _sent(self, stretch: Stretch) -> list[str]:
        """Return the largest traffic to or from one node that begins in the stretch."""
        total = sum(sent_tensor.bytes or 0 for sent_tensor in self.sent_tensors)
        sizes: Counter[tuple[str, int]] = Counter()
        ends: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        for sent_tensor in self.sent_tensors:
            if stretch.start_ns <= sent_tensor.start_ns < stretch.end_ns:
                for key, other in (
                    (("from", sent_tensor.sender), sent_tensor.receiver),
                    (("to", sent_tensor.receiver), sent_tensor.sender),
                ):
                    sizes[key] += sent_tensor.bytes or 0
                    ends[key].add(other)
        (way, node), size = max(sizes.items(), key=lambda item: item[1], default=(("", 0), 0))
        if size < max(_FEWEST_BYTES, _FEWEST_SHARE * total):
            return []
        one, others = self._nodes_text([node]), sorted(ends[way, node])
        if way == "from":
            return [f"{one} sends {units.size(size)} to {self._nodes_text(others)}"]
        verb = _verb(others, "sends", "send")
        return [f"{self._nodes_text(others)} {verb} {units.size(size)} to {one}"]

    def _nodes_text(self, which: Sequence[int]) -> str:
        """Return `replica 2`, `replicas 0 and 1`, `all 4 replicas`, `12 replicas`."""
        if len(which) == 1:
            return self.nodes[which[0]].title
        noun = self.nodes[which[0]].title.rpartition(" ")[0]
        if len(which) == sum(node.title.rpartition(" ")[0] == noun for node in self.nodes):
            return f"both {noun}s" if len(which) == 2 else f"all {len(which)} {noun}s"
        if len(which) > _MANY:
            return f"{len(which)} {noun}s"
        numbers = [self.nodes[at].title.rpartition(" ")[2] for at in sorted(which)]
        return f"{noun}s {units.listed(numbers)}"


def _exchange_text(exchange: Exchange) -> str:
    return (
        exchange.op if exchange.bytes is None else f"{exchange.op} of {units.size(exchange.bytes)}"
    )


def is_noticeable(part_ns: int, length_ns: int) -> bool:
    """Return whether a part of a step is long enough to have captions of its own."""
    return part_ns >= _NOTICEABLE * length_ns


def main_phase(node: Node, stretch: Stretch) -> str | None:
    """Return what a node does most of the stretch; None if nothing of it is known."""
    spent: Counter[str] = Counter()
    for state in node.states:
        common = stretch.common_ns(state.start_ns, state.end_ns)
        if common > 0:
            spent[state.phase] += common
    return spent.most_common(1)[0][0] if spent else None


def _verb(which: Sequence[int], one: str, many: str) -> str:
    return one if len(which) == 1 else many


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _uncovered(part: Stretch, said: Sequence[Stretch]) -> list[Stretch]:
    """Return the pieces of a stretch that no other caption has."""
    left = [part] if part.end_ns > part.start_ns else []
    for start, end, _ in said:
        left = [
            Stretch(low, high, part.text)
            for each in left
            for low, high in (
                (each.start_ns, min(each.end_ns, start)),
                (max(each.start_ns, end), each.end_ns),
            )
            if high > low
        ]
    return left


def _gaps(said: Sequence[Stretch], length_ns: int) -> list[Stretch]:
    gaps, at = [], 0
    for start, end, _ in sorted(said):
        if start > at:
            gaps.append(Stretch(at, start))
        at = max(at, end)
    return [*gaps, Stretch(at, length_ns)] if at < length_ns else gaps
