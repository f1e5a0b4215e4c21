"""Text in CSV files, which people open in spreadsheets."""

from __future__ import annotations

STARTS = "=+@\t\r\n-"
"""A spreadsheet computes a cell that begins so. A formula can start programs."""


def as_cell(value: object) -> object:
    """The value of a cell: text that would be a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple(STARTS)) else value
