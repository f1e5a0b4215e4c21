"""A step with something changed: predicted from its replay, and tried in new runs.

The replay itself is the kernel's, `strategy_profiles.replay`: the pages Why and Timeline, the
report and other leaves use it, too. Here are a verb and a page: edits one by one and together, the
critical path by kind of op, what differences between replicas cost.
"""
