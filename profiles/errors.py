"""Errors a user can cause. Each states the rule, then what was received, then what to do.

    LabError
    ├── SpecError        the request was wrong: nothing ran
    ├── RunFolderError   a run folder cannot be read or written as asked
    └── AnalysisError    a question that this run cannot answer (says why)

The command line prints them as one line and exits with 2; the page shows them beside the field.
"""

from __future__ import annotations

MOST_QUOTED = 500
"""Characters of what was received: it may be a path or a document of any length."""


class LabError(Exception):
    """A mistake that can be explained in one sentence; never shown as a traceback."""

    def __init__(self, rule: str, received: object = None, advice: str = "") -> None:
        self.rule = rule.rstrip(".")
        self.received = received
        self.advice = advice.rstrip(".")
        parts = [f"{self.rule}."]
        if received is not None:
            said = shortened(str(received), MOST_QUOTED)
            parts.append(f"Received: {said}" + ("" if said.endswith(".") else "."))
        if self.advice:
            parts.append(f"{self.advice}.")
        super().__init__(" ".join(parts))


class SpecError(LabError):
    """The request was wrong: `field` is the dotted path of the RunSpec field it is about."""

    def __init__(
        self, rule: str, received: object = None, advice: str = "", *, field: str = ""
    ) -> None:
        self.field = field
        super().__init__(rule, received, advice)


class RunFolderError(LabError):
    """A run folder cannot be read or written as asked."""


class AnalysisError(LabError):
    """A question that this run cannot answer."""


def shortened(text: str, most: int) -> str:
    """The text, its middle left out if it is longer than `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
