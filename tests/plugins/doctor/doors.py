"""What tests/doors and others ask of this leaf: its verb, its page, what it says of the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess

from tests.doors.guards import TO_READ

OPENS = {
    "strategy_doctor/limits_check.py": "a file of the system: /proc, /sys, /dev",
    "strategy_doctor/tensorflow_check.py": "a file of the system: /proc, /sys, /dev",
}
GUARDS = {"doctor": {"--runs": (TO_READ, "")}}
CHECKED_LATER = {("doctor", "--runs")}
IMPORTED = {"doctor": "pydantic yaml"}
PAGES = {"a traced program, an imported profile and servers": [("doctor", {})]}


def check_base(lab: Callable[..., CompletedProcess[str]], *, has_tensorflow: bool) -> None:
    """No package is missing, and each extra is listed; TensorFlow may be of any distribution."""
    checks = {check["key"]: check for check in json.loads(lab("doctor", "--json").stdout)["checks"]}
    assert checks["packages"]["state"] == "ok"
    assert checks["extra_ui"]["state"] == "missing"
    assert checks["extra_tensorflow"]["state"] == ("ok" if has_tensorflow else "missing")
    if not has_tensorflow:
        assert checks["tensorflow"]["found"] == "it is not installed"
        assert "strategy-lab[tensorflow]" in checks["tensorflow"]["advice"]
