"""Advice: why a run is slow and what would help. One rule, one file in `rules`.

A rule's module has `KEY`, `find(facts)` and, if the lab can make the change itself, `edits(facts,
finding)`. Its docstring is its section of `docs/advice.md`.
"""
