"""The cause of a failed run: what failed, on which replica, in which layer, line and step."""

from __future__ import annotations

import re
from dataclasses import dataclass

from strategy_lab.profiles.analysis.failures.known import KNOWN, Known
from strategy_lab.profiles.analysis.model_graph.scopes import scoped
from strategy_lab.profiles.run.events import Failed

_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_REPLICA = re.compile(r"(?:^|/)replica_(\d+)/")
_UNKNOWN = "Look at what is different in this step: the size of its batch, a shape, a value."
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a run failed."""

    key: str | None
    """Of the entry in `KNOWN`; None if the error is not known."""
    sentence: str
    advice: str
    replica: int | None
    layer: str | None
    place: str
    """The program's line, such as `train.py:12`; empty if it is unknown."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as it is printed behind the program's own traceback."""
        return self.sentence, self.advice


def explain(failed: Failed, num_steps: int, num_replicas: int = 1) -> Explained:
    """Explain an error that came after so many steps."""
    text = f"{failed.message}\n{failed.detail}"
    known = next((entry for entry in KNOWN if entry.pattern.search(text)), None)
    node = next(iter(_NODE.findall(failed.detail)), "")
    replica = _replica(node, num_replicas)
    path = scoped(node).path
    layer = path[-2] if len(path) > 1 else None
    return Explained(
        known.key if known else None,
        _sentence(failed, known, num_steps, replica, layer),
        known.remedy if known else _UNKNOWN,
        replica,
        layer,
        failed.place,
    )


def _replica(node: str, num_replicas: int) -> int | None:
    """The replica of a node; the names of replica 0 have no prefix, nor have those of others."""
    if not node or num_replicas < 2:
        return None
    found = _REPLICA.search(node)
    return int(found[1]) if found else None


def _sentence(
    failed: Failed, known: Known | None, num_steps: int, replica: int | None, layer: str | None
) -> str:
    where = f" at {failed.place}" if failed.place else ""
    inside = f", in `{layer}`" if layer else ""
    who = "a replica" if replica is None else f"replica {replica}"
    message = failed.message[:_LONGEST].rstrip(".")
    if known is None:
        of = "" if replica is None else f" on replica {replica}"
        return f"The run failed in step {num_steps}{of}{where}{inside}: {message}."
    because = known.cause.format(who=who)
    return f"The run failed in step {num_steps}{where}{inside} because {because} ({message})."
