"""Records the steps of any training program into a run folder.

The lab's own training loops use the same public API as other programs.
"""
