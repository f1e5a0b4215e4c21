"""Which change of a captured step removes the cause of a finding.

A rule names the change; a package that predicts steps makes it (`strategy_profiles.predictors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Change = Literal["no-delay", "average-replica", "free-input", "free-ops", "spec"]


class Removal(Struct, frozen=True):
    """The change of a step, by a word; the fields below it belong to one word each."""

    change: Change
    kind_of_op: str = ""
    """Of `free-ops`: a type of op, `communication` or `tf.print`."""
    changes: Mapping[str, Any] = {}
    """Of `spec`: values of RunSpec fields by dotted path."""
    is_bound: bool = False
    """Whether the change takes away more than any remedy can, so the gain is an upper bound."""
