"""Record the runs of the lecture's scenes again, as the lab ships them (`make recordings`).

python -m strategy_contexts.lecture.ship
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path

from strategy_contexts.lecture.recording import RUNS
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import parse_spec

LEFT_OUT = ("checkpoint", "stdout.log", "stderr.log")
_EPOCH = (2020, 1, 1, 0, 0, 0)


def pack(run: Path, file: Path) -> None:
    """Write a run as a zip, without its checkpoint and without the name of its machine."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(run.rglob("*")):
            name = path.relative_to(run)
            if path.is_dir() or set(LEFT_OUT) & set(name.parts):
                continue
            data = path.read_bytes()
            if path.suffix == ".jsonl":
                data = b"".join(map(_anonymous, data.splitlines(keepends=True)))
            packed.writestr(zipfile.ZipInfo(name.as_posix(), _EPOCH), data, zipfile.ZIP_DEFLATED)


def _anonymous(line: bytes) -> bytes:
    event = json.loads(line)
    if not event.get("host"):
        return line
    event["host"] |= {"name": "recorded", "boot": "", "platform": sys.platform}
    return f"{json.dumps(event)}\n".encode()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        launcher = Launcher()
        try:
            for run in RUNS:
                handle = launcher.launch(parse_spec(run.spec), Path(folder) / run.name)
                handle.wait()
                pack(Path(folder) / run.name, run.file)
                print(f"{run.file.name}: {handle.status}, {run.file.stat().st_size:,} B")
        finally:
            launcher.close()


if __name__ == "__main__":
    main()
