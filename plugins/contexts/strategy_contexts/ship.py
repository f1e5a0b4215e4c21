"""Record the demonstrations again, as the lab ships them (`make recordings`).

python -m strategy_contexts.ship [FOLDER]
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from strategy_contexts import course, demonstration
from strategy_contexts.demonstrations import COURSE
from strategy_contexts.shipped import DEVICES, FOLDER, STRATEGY, file_of
from strategy_core.runtime import logical_devices
from strategy_profiles.spec.run_spec import parse_spec


def recorded_document(name: str) -> dict[str, Any]:
    """Record a demonstration in this process; its document without title, text and source."""
    spec = parse_spec({"strategy": STRATEGY, "devices": DEVICES})
    source = course.demonstration(name).source
    recorded = demonstration.record(source, demonstration.strategy_of(spec), Path("program.py"))
    text = json.dumps(recorded.to_json(), default=str)
    document = json.loads(re.sub(r" at 0x[0-9a-f]+", "", text))
    for entry in document["trace"]["entries"]:
        entry.pop("thread")  # numbered by the process, differently each time
    return {key: document[key] for key in document if key not in ("title", "text", "source")}


def main() -> None:
    target = Path(sys.argv[1]).absolute() if sys.argv[1:] else FOLDER
    logical_devices.create_logical_devices(parse_spec({"devices": DEVICES}))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # a program is written beside its recording
        for name in COURSE:
            text = json.dumps(recorded_document(name), separators=(",", ":"))
            (target / file_of(name).name).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
