"""Overview of a run."""

from __future__ import annotations

from app.parts.picker import run_page

run_page("Overview")
