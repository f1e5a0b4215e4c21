"""Lecture mode: the lecturer's page behind the lab's gate, and a listener of its own for answers.

The listener serves the answer page and nothing else of the lab (docs/decisions/page.md).
"""
