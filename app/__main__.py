"""`python -m app`: open the lab in the browser's reach.

python -m app [--port N] [--host H] [--runs DIR] [--open-browser]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from strategy_lab.profiles.errors import LabError

DEFAULT_PORT = 8501


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strategy-lab ui", description="Serve the lab.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes any free port")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of run folders")
    parser.add_argument("--open-browser", action="store_true", help="show the lab in a browser")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until interrupted; 2 where the request was wrong."""
    arguments = parse_arguments(argv)
    from strategy_lab.app.server import serve

    try:
        serve(
            arguments.host,
            arguments.port,
            arguments.runs,
            open_browser=arguments.open_browser,
        )
    except LabError as error:
        print(f"strategy-lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
