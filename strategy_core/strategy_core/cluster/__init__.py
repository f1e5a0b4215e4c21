"""Several processes as one training run: tasks, membership, agreement on commands, barriers.

Starting and ending the processes is the launcher's.
"""
