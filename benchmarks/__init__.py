"""Measurements behind the README's figures, each a program: `python -m benchmarks.NAME`.

Each compares two sides in one run and prints a ratio or a bound. No tests: those are in `tests`.
"""
