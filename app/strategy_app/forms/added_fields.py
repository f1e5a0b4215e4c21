"""Fields of a strategy that a package adds, by entry points of the group `strategy_lab.fields`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from strategy_app.forms.field_errors import FieldErrors
from strategy_profiles.registered import loaded


@dataclass(frozen=True, slots=True)
class StrategyFields:
    """Further fields in the form of a new run; the entry point's name is the strategy's."""

    pick: Callable[[Mapping[str, Any], FieldErrors], dict[str, Any]]
    """Draws them, with Streamlit, and returns the fields of a RunSpec that they give. It takes what
    the form has above them: devices, processes and workload."""


def added_fields(strategy: str) -> StrategyFields | None:
    """Those of a strategy; None if there are none, or they cannot be loaded."""
    fields: StrategyFields | None = loaded("fields", StrategyFields)[0].get(strategy)
    return fields
