"""Is one run, or one set of runs, faster than another?

Statistics and the sentence that reports them. What follows from a difference is decided elsewhere:
in the leaves gate and sweep.
"""
