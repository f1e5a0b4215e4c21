"""Try the attacks of docs/security.md on labs that are started for it.

python -m tests.attacks

Prints one line for each attack; exits with 1 where one got through. Then come those that need a
page or a browser, which are tests: a link that fills in a file, the editor, frames in Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.attacks.attempts import (
    EVERYWHERE,
    ON_LOOPBACK,
    WITHOUT_TOKEN,
    Attack,
)
from tests.attacks.victim import Victim, victim
from tests.plugins.leaves import of_leaves

Start = Callable[[Path], AbstractContextManager[Victim]]
LABS: dict[str, tuple[Start, tuple[Attack, ...]]] = {
    "A lab as started by default": (victim, ON_LOOPBACK),
    "A lab --host 0.0.0.0": (partial(victim, host="0.0.0.0"), EVERYWHERE),
    "A lab --host 0.0.0.0 --no-token": (
        lambda folder: victim(folder, "--no-token", host="0.0.0.0"),
        WITHOUT_TOKEN,
    ),
}
"""By title how each is started in a folder, and what is tried on it."""
for leaf in of_leaves("attacks"):
    LABS |= leaf.LABS
_TESTS = (
    "tests/e2e/test_access_in_browser.py",
    "tests/app/forms/test_trusted_paths.py",
    *(test for leaf in of_leaves("attacks") for test in getattr(leaf, "TESTS", ())),
)


def attacked(lab: Victim, attacks: tuple[Attack, ...]) -> Iterator[tuple[str, str | None]]:
    """Each attack's first line, and how it got through; None where it was refused."""
    for attack in attacks:
        name = f"{attack.__name__}: {(attack.__doc__ or '').splitlines()[0]}"
        try:
            attack(lab)
        except AssertionError as error:
            yield name, str(error) or "it got through"
        else:
            yield name, None


def main() -> int:
    through = 0
    for title, (start, attacks) in LABS.items():
        print(title)
        with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as lab:
            for name, how in attacked(lab, attacks):
                through += how is not None
                print(f"  {'refused' if how is None else 'GOT THROUGH'}  {name}", flush=True)
                if how is not None:
                    print(f"      {how[:500]}")
    root = Path(__file__).parents[2]
    failed = pytest.main(["-q", "--rootdir", str(root), *(str(root / each) for each in _TESTS)])
    return 1 if through or failed else 0


if __name__ == "__main__":
    sys.exit(main())
