"""The launcher's classes are composed: none changes what a base class keeps to itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from strategy_core import launcher

PROJECT = ("strategy_core", "strategy_profiles", "strategy_app", "tests")


def private_overrides(cls: type) -> list[str]:
    """Private names of a class of this project that its subclass defines, too."""
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith(PROJECT)]
    inherited = {name for base in bases for name in vars(base)}
    return [name for name in vars(cls) if is_private(name) and name in inherited]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and not name.startswith("_abc_")


def test_no_class_of_the_launcher_overrides_a_private_method() -> None:
    definitions = {}
    for module in pkgutil.iter_modules(launcher.__path__, "strategy_core.launcher."):
        for cls in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(cls) and cls.__module__ == module.name:
                definitions[cls] = private_overrides(cls)
    assert len(definitions) > 10
    assert {cls: names for cls, names in definitions.items() if names} == {}


class Base:
    def _private(self) -> None: ...

    def public(self) -> None: ...


class Derived(Base):
    def _private(self) -> None: ...

    def public(self) -> None: ...


def test_an_override_of_a_private_method_is_detected() -> None:
    assert private_overrides(Derived) == ["_private"]
