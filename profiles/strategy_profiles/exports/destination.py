"""The description of a destination: a service that keeps the key numbers of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strategy_profiles.extras import Extra
from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Destination:
    """A service: an entry point of the group `strategy_lab.exports` names it."""

    name: str
    """The name on the command line, such as `mlflow`."""
    title: str
    description: str
    """One sentence: what is sent, and what an address looks like."""
    send: Callable[[Profile, str], str]
    """Sends the numbers of a run to an address; returns where they are now. Raises LabError."""
    extra: Extra | None = None
    """The extra that installs the packages it needs, if they come by one."""
