"""Measurements behind docs/figures.md, each a program: `python -m benchmarks.NAME`.

Each file here is such a program, which compares two sides in one run and prints a ratio or a bound.
`figures` runs them and keeps what they record.
What they share is in `measuring`, what they start in `programs`. No tests: those are in `tests`.
"""
