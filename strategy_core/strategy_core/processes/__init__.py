"""Worker processes as the launcher and the worker itself see them. Nothing imports TensorFlow.

protocol          commands and messages between launcher and worker
spawner           launcher: starts workers
fork_client       launcher: starts a fork server, and asks it for workers
fork_server       has TensorFlow imported; forks workers with their reapers
worker_process    launcher: sends commands to one worker, receives its messages
command_reader    worker: receives commands in a thread
parent_death      worker: ends with its launcher
reaper            parent of a worker on Linux: ends all descendants of the worker
descendants       finds the descendants of a worker, and its files, by a mark
orphan_cleanup    ends the descendants of the workers of a launcher that was killed
exit_reason       why a worker ended
oom               out-of-memory counters of the kernel
stack_probe       the stack of a process that does not answer otherwise
timeouts          limits for a process that is busy
import_path       what child processes import
"""
