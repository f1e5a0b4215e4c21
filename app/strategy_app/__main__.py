"""`python -m strategy_app`: serve the lab. `strategy-lab ui` becomes this program.

python -m strategy_app [--port N] [--host H] [--runs DIR] [--allow-host NAME[:PORT]]...
                       [--no-token] [--open-browser] [--run NAME]
                       [--beside PID]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from strategy_profiles.errors import LabError
from strategy_profiles.ui_options import add_ui_options, given_options
from strategy_profiles.user_input.arguments import address, whole

DEFAULT_PORT = 8501


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strategy-lab ui", description="Serve the lab.")
    parser.add_argument("--port", type=whole, default=DEFAULT_PORT, help="0 takes any free port")
    parser.add_argument("--host", type=address, default="127.0.0.1", help="address to listen on")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of run folders")
    parser.add_argument("--open-browser", action="store_true", help="show the lab in a browser")
    parser.add_argument("--no-token", action="store_true", help="let everyone in")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME[:PORT]")
    parser.add_argument("--run", metavar="NAME", help="the run that the browser shows first")
    parser.add_argument("--beside", type=whole, metavar="PID", help="end some time after a process")
    add_ui_options(parser)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until interrupted; 2 where the request was wrong."""
    arguments = parse_arguments(argv)
    from starlette.middleware import Middleware

    from strategy_app.access.policy import Access, choose_token, parse_hosts
    from strategy_app.server.asgi_app import serve
    from strategy_app.shell.read_ahead import ReadAhead
    from strategy_core.processes.running_labs import TOKEN_VARIABLE

    try:
        token = None if arguments.no_token else choose_token(os.environ)
        # Runs inherit the environment: what they execute has no use for the token.
        os.environ.pop(TOKEN_VARIABLE, None)
        allowed = parse_hosts(arguments.allow_host)
        access = Access(arguments.host, arguments.port, token, allowed)
        ahead = [Middleware(ReadAhead)]
        serve(
            access,
            arguments.runs,
            open_browser=arguments.open_browser,
            middleware=ahead,
            options=given_options(arguments),
            run=arguments.run,
            beside=arguments.beside,
        )
    except LabError as error:
        print(f"strategy-lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
