"""Why did the run fail: what failed, on which replica, in which layer, line and step.

Causes are those of the errors that packages know: entry points of the group
`strategy_lab.failures`, each a tuple of `Known`.
"""

from __future__ import annotations

import re
from itertools import chain

from msgspec import Struct

from strategy_profiles.analysis.scopes import scoped
from strategy_profiles.registered import loaded
from strategy_profiles.run.events import Failed
from strategy_profiles.tables.store import Profile

_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_REPLICA = re.compile(r"(?:^|/)replica_(\d{1,9})/")
_FIRST = "Change what the message names."
_UNKNOWN = "Look at what is different in this step: the size of its batch, a shape, a value."
FIRST_TO_COMPARE = 2
"""The step from which on others were done before."""
_NO_TRACEBACK = "Look at the program's own output: Python raised no error."
_LONGEST = 300
_HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"
_FRAMES = re.compile(r"\ATraceback \(most recent call last\):\n(?: .*\n)*")
"""The calls before the error, with their source lines."""


class Known(Struct, frozen=True):
    """An error and its cause."""

    key: str
    pattern: str
    """A regular expression, of the type and the message of the error; a dot matches a new line."""
    cause: str
    """A clause that follows `because`; `{who}` is the replica, or `a replica` if it is unknown."""
    remedy: str
    """Sentences."""
    is_of_traceback: bool = False
    """Whether the pattern is of the traceback as well: some errors have no message."""

    def matches(self, message: str, detail: str) -> bool:
        """Whether this is the error with that message and traceback."""
        after = detail if self.is_of_traceback else _FRAMES.sub("", detail, count=1)
        return re.search(self.pattern, f"{message}\n{after}", re.DOTALL) is not None


class Explained(Struct, frozen=True):
    """Why a run failed."""

    key: str | None
    """Of the entry; None if the error is not known."""
    sentence: str
    advice: str
    replica: int | None
    layer: str | None
    place: str
    """The program's line, such as `train.py:12`; empty if it is unknown."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as it is printed behind the program's own traceback."""
        return tuple(line for line in (self.sentence, self.advice) if line)


def explain(failed: Failed, step: int | None, num_replicas: int = 1) -> Explained:
    """Explain an error that came in a step, or before the first one, which is None."""
    known = next(iter(matching(failed)), None)
    node = next(iter(_NODE.findall(_last(failed.detail))), "")
    replica = _replica(node, num_replicas)
    layer = _layer(node)
    return Explained(
        known.key if known else None,
        _sentence(failed, known, step, replica, layer),
        known.remedy if known else _remedy(failed, step),
        replica,
        layer,
        failed.place,
    )


def failed_in(profile: Profile) -> Failed | None:
    """The error that the status of a failed run names; None if no process recorded it."""
    if profile.status.state != "failed":
        return None
    message = profile.status.message or ""
    events = [event for event in profile.events(Failed) if event.message in message]
    return events[-1] if events else None


def explained_without_steps(profile: Profile) -> Explained | None:
    """Why a run failed before its first step; None if it did not."""
    failed = None if profile.segments else failed_in(profile)
    return explain(failed, None) if failed else None


def _remedy(failed: Failed, step: int | None) -> str:
    """What to do about an error that no entry matches."""
    if step is None or step < FIRST_TO_COMPARE:
        return _FIRST
    return _UNKNOWN if failed.detail else _NO_TRACEBACK


def matching(failed: Failed) -> list[Known]:
    """The entries that the error matches; the first one counts.

    Only the error that ended the run is searched. The traceback may begin with errors that were
    being handled when it was raised, such as the end of the data that a loop ran into.
    """
    detail = _last(failed.detail)
    # Loaded now: most runs do not fail.
    entries = chain.from_iterable(loaded("failures", tuple)[0].values())
    return [entry for entry in entries if entry.matches(failed.message, detail)]


def _last(detail: str) -> str:
    """The traceback of the error itself, which follows those that were being handled."""
    return detail.rpartition(_HANDLED)[2]


def _layer(node: str) -> str | None:
    """The innermost scope that is not named after an op, as `add/Add` and `Log/CheckNumerics` are.

    Only functions of TensorFlow name a scope after an op.
    """
    *path, op = scoped(node).path
    while path and (path[-1][0].isupper() or path[-1].replace("_", "") in op.lower()):
        path.pop()
    return path[-1] if path else None


def _replica(node: str, num_replicas: int) -> int | None:
    """The replica of a node; the names of replica 0 have no prefix, nor have those of others."""
    if not node or num_replicas < 2:
        return None
    match = _REPLICA.search(node)
    return int(match[1]) if match else None


def _sentence(
    failed: Failed, known: Known | None, step: int | None, replica: int | None, layer: str | None
) -> str:
    when = "before its first step" if step is None else f"in step {step}"
    where = f" at {failed.place}" if failed.place else ""
    inside = f", in `{layer}`" if layer else ""
    who = "a replica" if replica is None else f"replica {replica}"
    message = failed.message[:_LONGEST].rstrip(".")
    if known is None:
        message = re.sub(r"^The\b", "the", message)
        of = "" if replica is None else f" on replica {replica}"
        return f"The run failed {when}{of}{where}{_text_at(failed)}{inside}: {message}."
    because = known.cause.format(who=who)
    return f"The run failed {when}{where}{inside} because {because} ({message})."


def _text_at(failed: Failed) -> str:
    """The program's line as the traceback has it, in brackets; empty if it has none."""
    file, _, line = failed.place.rpartition(":")
    called = rf'File "(?:.*/)?{re.escape(file)}", line {line}, in .*\n +(.*)'
    texts = re.findall(called, failed.detail) if file else []
    return f" (`{texts[-1]}`)" if texts else ""
