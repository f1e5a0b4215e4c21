"""Text and paths that people wrote, read with limits and refused in a sentence.

For YAML, JSON, numbers and file names; what a run folder holds is checked in `run` and `tables`.
"""
