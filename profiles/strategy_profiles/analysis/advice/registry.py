"""Every rule, found in the folder `rules`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.advice import rules
from strategy_profiles.analysis.facts import Facts, Finding
from strategy_profiles.analysis.removal import Removal

Find = Callable[[Facts], Iterator[Finding]]
Edits = Callable[[Facts, Finding], dict[str, Any]]
Removes = Callable[[Facts, Finding], Removal | str]


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

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """What the rule finds, with its changes if the run has a spec to change."""
        for item in self.find(facts):
            removal = self.removal if isinstance(self.removal, str) else self.removal(facts, item)
            edits = self.edits(facts, item) if self.edits and facts.segment.is_of_lab else {}
            yield replace(item, edits=edits, removal=removal)


def _read(name: str) -> Rule:
    module: Any = importlib.import_module(f"{rules.__name__}.{name}")
    removal = module.removal if hasattr(module, "removal") else module.NO_GAIN
    rows = getattr(module, "ROWS", ())
    edits = getattr(module, "edits", None)
    return Rule(module.KEY, module.__doc__, module.find, rows, edits, removal)


RULES = tuple(_read(item.name) for item in pkgutil.iter_modules(rules.__path__))
