"""What tests/doors asks of this leaf: the files that it opens, the variables that it reads."""

from __future__ import annotations

OPENS = {"strategy_tpu/pod_host.py": "what a process says that the lab has started"}
ENVIRONMENT = {"ENVIRONMENT": "whether it is set, or equal to a word"}
