"""The recorded program's process, started by `guard`: reads a request, writes a recording file."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from strategy_core.processes import parent_death
from strategy_core.runtime import gc_control


def main() -> None:
    parent_death.tie_to(int(sys.argv[1]))
    commands = parent_death.take_stdin()
    request = json.loads(commands.readline())
    os.nice(request["nice"])
    threading.Thread(target=_end_with, args=(commands,), daemon=True).start()
    out = Path(request["out"])
    part = out.with_suffix(".part")
    part.write_text(json.dumps(_record(request), default=str), encoding="utf-8")
    part.replace(out)
    # A normal exit of the interpreter would wait for TensorFlow's threads; nothing needs it.
    sys.stdout.flush()
    os._exit(0)


def _record(request: dict[str, Any]) -> dict[str, Any]:
    with gc_control.importing():
        from strategy_contexts import demonstration
        from strategy_core.runtime import logical_devices
    from strategy_profiles.errors import LabError
    from strategy_profiles.spec.run_spec import parse_spec

    try:
        spec = parse_spec(request["spec"])
        logical_devices.create_logical_devices(spec)
        strategy = demonstration.strategy_of(spec)
        if request["folder"]:
            sys.path.insert(0, request["folder"])
        return demonstration.record(request["source"], strategy, Path("program.py")).to_json()
    except LabError as error:
        return {"refused": str(error).rstrip(".")}


def _end_with(commands: Any) -> None:
    commands.read()
    parent_death.end_at_once()


if __name__ == "__main__":
    main()
