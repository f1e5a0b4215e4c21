"""Records the steps of any training program into a run folder.

The lab's own training loops use the same public API as other programs. Nothing here trains a model
or interprets what was recorded: that is for `strategy_profiles.analysis`.
"""
