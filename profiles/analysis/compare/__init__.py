"""Is one run, or one set of runs, faster than another?

Statistics and the sentence that reports them.
"""
