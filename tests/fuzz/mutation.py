"""What was done to a run, and whether its readers can know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change to a run's files."""

    text: str
    """What was changed, in words."""
    is_detectable: bool
    """Whether a reader can tell: a number that differs afterwards then needs a note.

    A value that was replaced by another plausible one of its type is not: 17 ms
    in place of a measured 18 ms looks like any measurement. What is missing, of another type, out
    of its range, twice, or in a damaged file, is.
    """
