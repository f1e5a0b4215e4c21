"""The optional parts of the lab, and the packages that each needs.

An extra of `pyproject.toml` installs them: `pip install 'strategy-lab[ui]'`. Packages add theirs
by entry points of the group `strategy_lab.extras`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from strategy_profiles.errors import LabError
from strategy_profiles.registered import LAB, loaded


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part. `module` is a module that only its packages have."""

    name: str
    module: str
    gives: str
    """What works only with it."""
    package: str = LAB
    """The distribution whose extra it is."""

    @property
    def is_installed(self) -> bool:
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # the module's package is missing, too
            return False

    @property
    def advice(self) -> str:
        return f"Install it with: pip install '{self.package}[{self.name}]'"

    def require(self) -> None:
        """Raise LabError with the command that installs the extra, if it is missing."""
        if not self.is_installed:
            raise LabError(
                f"{self.gives} needs the extra {self.name}, which is not installed",
                advice=self.advice,
            )


EXTRAS: dict[str, Extra] = {
    item.name: item
    for item in (
        Extra("tensorflow", "tensorflow", "a run or a trace"),
        Extra("ui", "streamlit", "strategy-lab ui"),
    )
}
"""The extras of the lab itself, by name."""


def extras() -> dict[str, Extra]:
    """The extras of the lab and of what packages add to it, by name."""
    added, _ = loaded("extras", Extra)
    return EXTRAS | {name: extra for name, extra in added.items() if name not in EXTRAS}


def require(name: str) -> None:
    """Raise LabError with the command that installs an extra of the lab, if it is missing."""
    EXTRAS[name].require()
