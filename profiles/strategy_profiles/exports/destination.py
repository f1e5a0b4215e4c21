"""The description of a destination: a service that keeps the key numbers of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Destination:
    """A service: a module of this package that defines `DESTINATION` is found by it."""

    name: str
    """The name on the command line, such as `mlflow`."""
    title: str
    description: str
    """One sentence: what is sent, and what an address looks like."""
    extra: str
    """The extra of the lab that installs its packages."""
    send: Callable[[Profile, str], str]
    """Sends the numbers of a run to an address; returns where they are now. Raises LabError."""
