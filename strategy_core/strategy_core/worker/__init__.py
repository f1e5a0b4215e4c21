"""The child process: commands on stdin, training or serving, events in the run folder.

The training itself is in `training`.
"""
