"""`python -m strategy_mcp`: what `strategy-lab mcp` starts.

Over stdio, stdout carries the protocol: nothing else is printed there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from strategy_core.launcher.launcher import Launcher
from strategy_mcp.answers import Answers
from strategy_mcp.server import build_server
from strategy_mcp.starting import Starting
from strategy_profiles.errors import LabError
from strategy_profiles.user_input.arguments import whole


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves or a signal comes; 2 if the request was wrong."""
    parser = argparse.ArgumentParser(prog="strategy-lab mcp")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--allow-run", action="store_true")
    parser.add_argument("--http", type=whole, metavar="PORT")
    arguments = parser.parse_args(argv)
    runs = arguments.runs.resolve()
    try:
        if not arguments.allow_run:
            _serve(Answers(runs), None, arguments.http)
        else:
            with Launcher() as launcher:
                _serve(Answers(runs), Starting(runs, launcher), arguments.http)
    except LabError as error:
        print(f"strategy-lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


def _serve(answers: Answers, starting: Starting | None, port: int | None) -> None:
    server = build_server(answers, starting)
    if port is None:
        server.run("stdio")
        return
    from strategy_mcp.http import serve_http

    serve_http(server, port)


if __name__ == "__main__":
    sys.exit(main())
