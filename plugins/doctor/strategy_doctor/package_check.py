"""Python, the packages that the lab requires, its extras, and packages that add to it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from strategy_doctor.check import Check, broken, missing, present
from strategy_profiles.errors import LabError
from strategy_profiles.extras import extras
from strategy_profiles.registered import LAB, every_entry

WITH_TENSORFLOW = ("strategies", "tracers")
"""Groups whose modules import it: they are found, and not loaded."""


def python_check(version: str = platform.python_version()) -> Check:
    """Whether this Python is one that the lab supports."""
    installed = _distribution()
    wanted = installed.metadata["Requires-Python"] if installed else ""
    if SpecifierSet(wanted).contains(version):
        return present("python", "Python", version)
    return broken("python", "Python", f"{version}, not {wanted}", f"Install Python {wanted}")


def package_check(requires: Sequence[str] | None = None) -> Check:
    """Whether each required package is installed in a version that the lab was made for."""
    if requires is None:
        own = _distribution()
        requires = (own.requires if own else None) or []
    needed = [Requirement(text) for text in requires]
    checked = [item for item in needed if _is_always_needed(item) or _is_of_used_extra(item)]
    wrong = [why for item in checked if (why := _why_unmet(item))]
    if not requires:
        return missing(
            "packages",
            "Packages",
            "the lab runs from its source and is not installed",
            "a check of versions",
            "pip install -e .",
        )
    if wrong:
        advice = "Install the versions that the lab requires: pip install strategy-lab"
        costs = "what uses these packages may fail"
        return missing("packages", "Packages", "; ".join(wrong), costs, advice)
    return present("packages", "Packages", "all that are required")


def extra_checks() -> Iterator[Check]:
    """Each extra, and what is not there without it."""
    for extra in extras().values():
        key, title = f"extra_{extra.name}", f"Extra {extra.name}"
        if extra.is_installed:
            yield present(key, title, "installed")
        else:
            yield missing(key, title, "not installed", extra.gives, extra.advice)


def addition_checks() -> Iterator[Check]:
    """What other packages add to the lab, and why it cannot be used."""
    for item in every_entry(tuple(sys.path)):
        if item.package == LAB:
            continue
        key, title = f"added_{item.group}_{item.name}", f"{item.package}, {item.name}"
        try:
            item.file() if item.group in WITH_TENSORFLOW else item.load()
            yield present(key, title, f"adds {item.name} to {item.group}")
        except LabError as error:
            costs = f"{item.name} of {item.group}"
            yield missing(key, title, error.problem, costs, error.advice)


def _is_always_needed(item: Requirement) -> bool:
    """Whether it is needed on this system without any extra."""
    return item.marker is None or item.marker.evaluate({"extra": ""})


def _is_of_used_extra(item: Requirement) -> bool:
    """Whether the page or training needs it, and it is installed: the user has one of these."""
    marker = item.marker
    if marker is None or not any(marker.evaluate({"extra": name}) for name in ("tensorflow", "ui")):
        return False
    return any(metadata.distributions(name=item.name))


def _why_unmet(item: Requirement) -> str | None:
    """Why a package is not as it is required; None if it is."""
    try:
        version = metadata.version(item.name)
    except metadata.PackageNotFoundError:
        return f"{item.name} is not installed"
    if item.specifier.contains(version, prereleases=True):
        return None
    return f"{item.name} is {version}, not {item.specifier}"


def _distribution() -> metadata.Distribution | None:
    try:
        return metadata.distribution(LAB)
    except metadata.PackageNotFoundError:
        return None
