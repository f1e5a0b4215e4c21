"""What page, report and command line share when they show a figure.

Definitions, glossary, units, names and colours. Nothing here reads a run.
"""
