"""What tests/doors and others ask of this leaf: its file, its variables, its text, its page."""

from __future__ import annotations

OPENS = {"strategy_tpu/pod_host.py": "what a process says that the lab has started"}
ENVIRONMENT = {"ENVIRONMENT": "whether it is set, or equal to a word"}
INPUTS = {"strategy_tpu/shown/layout_form.py": 1}
QUERIES = {"/cores": {"run": "seen-on-tpu"}}
PAGES = {"a running run, a captured step, and cores": [("cores", {"run": "axe-cores"})]}
