"""What tests/doors and others ask of this leaf: its page."""

from __future__ import annotations

QUERIES = {"/servers": {"run": "seen-with-servers"}}
PAGES = {
    "a run": [("servers", {"run": "axe-a"})],
    "a traced program, an imported profile and servers": [("servers", {"run": "axe-servers"})],
}
