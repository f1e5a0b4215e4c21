"""The command `strategy-lab`; `python -m strategy_core` is the same."""

from __future__ import annotations

import sys
from typing import NoReturn


def entry_point() -> NoReturn:
    """Run the command line. Ctrl-C while it imports what it needs ends it without a traceback."""
    try:
        from strategy_core.cli import main

        main.entry_point()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    entry_point()
