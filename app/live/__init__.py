"""A run that is being followed:

one reader per run, and the rows, states and numbers sent to browsers.
"""
