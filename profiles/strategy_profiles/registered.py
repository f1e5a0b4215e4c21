"""What installed packages add to the lab: their entry points in the groups `strategy_lab.*`.

`importlib.metadata` reads the same files, but its import alone takes half the time that
`strategy-lab --help` has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from strategy_profiles.errors import LabError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

LAB = "strategy-lab"
_PREFIX = "strategy_lab."
_METADATA = (".dist-info", ".egg-info")


class Registered(NamedTuple):
    """One entry point; `value` is `module` or `module:object`.

    No struct: the import of msgspec takes an eighth of what `strategy-lab --help` takes.
    """

    package: str
    group: str
    """Without the prefix `strategy_lab.`."""
    name: str
    value: str

    def load(self) -> Any:
        """Import and return the object.

        Raises LabError if the import fails; a failure of the lab's own code is raised as it is.
        """
        try:
            return self._object()
        except Exception as error:
            if self.package == LAB:
                raise
            reason = f"cannot be loaded: {type(error).__name__}: {error}"
            raise self.refused(reason) from error

    def file(self) -> Path:
        """The file of the module; the packages around it are found, and not imported.

        Raises LabError if there is none.
        """
        module = self.value.partition(":")[0]
        path: Sequence[str] | None = None
        spec: ModuleSpec | None = None
        for end in (*(at for at, letter in enumerate(module) if letter == "."), len(module)):
            known = sys.modules.get(module[:end])
            specs = (finder.find_spec(module[:end], path) for finder in sys.meta_path)
            spec = known.__spec__ if known else next(filter(None, specs), None)
            path = spec.submodule_search_locations if spec else []
        if spec is None or spec.origin is None:
            raise self.refused("cannot be found")
        return Path(spec.origin)

    def refused(self, reason: str) -> LabError:
        """The error for an object that `reason` says why it cannot be used."""
        return LabError(
            f"The package {self.package} adds {self.name} to {_PREFIX}{self.group}, but "
            f"{self.value} {reason}",
            advice=f"Update or remove the package {self.package}",
        )

    def _object(self) -> Any:
        module, _, names = self.value.partition(":")
        obj: Any = import_module(module)
        for name in filter(None, names.split(".")):
            obj = getattr(obj, name)
        return obj


def registered(group: str) -> dict[str, Registered]:
    """The entry points of `strategy_lab.GROUP` by name.

    If two packages use one name, the lab's own comes first, and then the order of the alphabet.
    """
    entries = [item for item in every_entry(tuple(sys.path)) if item.group == group]
    entries.sort(key=lambda item: (item.package != LAB, item.package))
    return {item.name: item for item in reversed(entries)}


def loaded(group: str, kind: type | tuple[type, ...]) -> tuple[dict[str, Any], dict[str, LabError]]:
    """The objects that packages add to a group, and why others cannot be used, each by name."""
    objects, errors = {}, {}
    for name, item in registered(group).items():
        try:
            one = item.load()
        except LabError as error:
            errors[name] = error
            continue
        if isinstance(one, kind):
            objects[name] = one
        else:
            kinds = kind if isinstance(kind, tuple) else (kind,)
            errors[name] = item.refused(f"is no {' or '.join(each.__name__ for each in kinds)}")
    return objects, errors


@cache
def every_entry(path: tuple[str, ...]) -> tuple[Registered, ...]:
    """The lab's entry points in these folders; of two copies of a package the first counts."""
    packages: dict[str, Path] = {}
    for folder in path:
        for name in _listed(folder or "."):
            if name.endswith(_METADATA):
                package = name.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
                packages.setdefault(package, Path(folder, name))
    return tuple(item for each in packages.items() for item in _entries(*each))


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  names, without a Path for each
    except OSError:  # a zip file, or a folder that is not there
        return []


def _entries(package: str, metadata: Path) -> Iterator[Registered]:
    try:
        text = (metadata / "entry_points.txt").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith(_PREFIX) and "=" in line and line[0] not in "#;":
            name, value = (part.strip() for part in line.split("=", 1))
            value = value.partition("[")[0].strip()
            yield Registered(package, group.removeprefix(_PREFIX), name, value)
