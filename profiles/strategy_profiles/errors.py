"""Errors a user can cause. Each says what is wrong and with what, then what to do.

    LabError
    ├── SpecError        the request was wrong: nothing ran
    ├── RunFolderError   a run folder cannot be read or written as asked
    └── AnalysisError    a question that this run cannot answer (says why)

The command line prints them as one line and exits with 2; the page shows them beside the field.
"""

from __future__ import annotations

import errno

MOST_QUOTED = 500
"""Characters of a problem: it may quote a path or a document of any length."""


class LabError(Exception):
    """A mistake that can be explained in two sentences; never shown as a traceback."""

    def __init__(self, problem: str, *, advice: str = "") -> None:
        self.problem = shortened(problem.rstrip("."), MOST_QUOTED)
        self.advice = advice.rstrip(".")
        super().__init__(" ".join(f"{text}." for text in (self.problem, self.advice) if text))


class SpecError(LabError):
    """The request was wrong: `field` is the dotted path of the RunSpec field it is about.

    `offers` is a value of that field that would be right, for a page that can set it.
    """

    def __init__(
        self, problem: str, *, advice: str = "", field: str = "", offers: int | None = None
    ) -> None:
        self.field = field
        self.offers = offers
        super().__init__(problem, advice=advice)


class RunFolderError(LabError):
    """A run folder cannot be read or written as asked."""


def refused(error: OSError, what: str) -> RunFolderError:
    """Return the error for a file that the system does not let this process write.

    `what` begins its sentence: "An event cannot be written to the run folder".
    """
    advice = _ADVICE.get(error.errno or 0, "Check its disk, and whether you may write there")
    return RunFolderError(f"{what}: {error.strerror or error}", advice=advice)


_ADVICE = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space, or have your quota raised",
    errno.EFBIG: "No file may be larger here: raise the limit of `ulimit -f`, or take another disk",
}


class AnalysisError(LabError):
    """A question that this run cannot answer."""


def shortened(text: str, most: int) -> str:
    """The text, its middle left out if it is longer than `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
