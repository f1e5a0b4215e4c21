"""Every kind of case, those of leaves among them, and the judgement of one."""

from __future__ import annotations

import random
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.doors.hostile import no_hang
from tests.fuzz.cases import CaseError, Fault, damage_arguments, damage_run, damage_spec
from tests.plugins.leaves import of_leaves

KINDS: dict[str, Callable[[Path, random.Random], str]] = {
    "run": damage_run,
    "spec": damage_spec,
    "arguments": damage_arguments,
}
for leaf in of_leaves("fuzz"):
    KINDS |= leaf.KINDS


def try_case(kind: str, number: int, seed: int) -> Fault | None:
    """One case; None if the judge accepts it."""
    chance = random.Random(f"{seed}-{kind}-{number}")
    with tempfile.TemporaryDirectory(prefix="strategy-lab-fuzz-") as folder:
        what = "not known"
        try:
            with warnings.catch_warnings(), no_hang(kind):
                warnings.simplefilter("ignore")
                KINDS[kind](Path(folder), chance)
        except CaseError as error:
            what, at_fault = error.what, _where_and_what(error.error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            at_fault = _where_and_what(error)
        else:
            return None
    return Fault(kind, number, what, at_fault)


def _where_and_what(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)
    own = [
        f"{Path(each.filename).name}:{each.lineno}"
        for each in place
        if "/tests/" not in each.filename
    ]
    return f"{type(error).__name__}: {str(error)[:600]} at {' < '.join(own[-4:][::-1])}"
