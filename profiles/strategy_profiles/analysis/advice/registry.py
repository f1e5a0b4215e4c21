"""Every rule: the modules of the folder `rules`, then those that packages add.

A package names a module like one of these by an entry point of the group `strategy_lab.rules`: a
text, `KEY`, `NO_GAIN` and `find(facts)`. One that fails says so in the answer, and the others go
on.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.advice import rules
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.registered import Registered, loaded, registered

Find = Callable[[Facts], Iterator[Finding]]
Edits = Callable[[Facts, Finding], dict[str, Any]]
Removes = Callable[[Facts, Finding], Removal | str]


@runtime_checkable
class RuleModule(Protocol):
    """What a package's module has to have."""

    KEY: str
    NO_GAIN: str
    find: Find


class Rule(Struct, frozen=True):
    """One reason for slowness: what finds it, and what the lab can do about it."""

    key: str
    text: str
    """Markdown: the title, then what it does, why that is slow and what to do."""
    find: Find
    rows: tuple[str, ...]
    """Rows of the account that its time is a part of; empty if it has no time."""
    edits: Edits | None
    """Changes of the RunSpec that would help, by dotted path; None if the lab cannot make any."""
    removal: Removes | str
    """The change of a replayed step that removes the cause; a sentence if no change does."""
    entry: Registered | None = None
    """Of a rule that another package adds."""

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """What the rule finds, with its changes if the run has a spec to change; of a rule of
        another package that fails, that it does."""
        try:
            every = [self._completed(facts, item) for item in self.find(facts)]
        except Exception as error:
            if self.entry is None:
                raise
            refused = self.entry.refused(f"fails: {type(error).__name__}: {error}")
            every = [finding(facts, self.key, f"{refused}.", f"{refused.advice}.", None)]
        yield from every

    def _completed(self, facts: Facts, item: Finding) -> Finding:
        removal = self.removal if isinstance(self.removal, str) else self.removal(facts, item)
        edits = self.edits(facts, item) if self.edits and facts.segment.is_of_lab else {}
        return replace(item, edits=edits, removal=removal)


def every_rule() -> tuple[Rule, ...]:
    """The lab's own rules, and those of packages that can be loaded."""
    modules, _ = loaded("rules", RuleModule)
    entries, own = registered("rules"), {rule.key for rule in RULES}
    added = [
        _of_module(module, entries[name])
        for name, module in modules.items()
        if module.KEY not in own
    ]
    return (*RULES, *added)


def _read(name: str) -> Rule:
    return _of_module(importlib.import_module(f"{rules.__name__}.{name}"))


def _of_module(module: Any, entry: Registered | None = None) -> Rule:
    removal = module.removal if hasattr(module, "removal") else module.NO_GAIN
    rows = getattr(module, "ROWS", ())
    edits = getattr(module, "edits", None)
    return Rule(module.KEY, module.__doc__ or "", module.find, rows, edits, removal, entry)


RULES = tuple(_read(item.name) for item in pkgutil.iter_modules(rules.__path__))
