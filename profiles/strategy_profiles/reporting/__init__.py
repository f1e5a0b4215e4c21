"""What page, report and command line share when they show a figure.

Definitions, glossary, units, names and colours, and text of a run in Markdown and CSV. Nothing here
reads a run.
"""
