"""Starts, watches, changes and ends the processes of a run. Free of TensorFlow.

One process by itself is in `processes`; how the processes of a cluster agree is in `cluster`.

launcher         starts runs one at a time and keeps the spare worker
run_handle       one run: its processes, commands and ending
multi_host_run   this host's part of a run on several hosts
process_group    the processes of one generation, from start to end
worker_monitor   the state of one worker, from its events and messages
hang_diagnosis   which process the others wait for
restart_policy   whether a run goes on without a process that was lost
launch_log       the launcher's event file
claim            takes a run folder, or says why it cannot
repetition       runs repeated in turns, to compare two specs
ray              the same under Ray Train
"""
