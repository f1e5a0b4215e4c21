"""Starts, watches, changes and ends the processes of a run. Free of TensorFlow.

One process by itself is in `processes`; how the processes of a cluster agree is in `cluster`.

docs/processes.md explains it and draws the states of workers and runs.

launcher          starts runs, one at a time by default
worker_pool       the worker processes, with a spare one, and when that is started
claim             takes a run folder, or says why it cannot
run_handle        a run as its callers see it, and its thread
run_control       what the thread does with messages, requests and time
inbox             what the thread receives
run_state         states of a run and their transitions
deployment        starts processes; what differs between one host and several: one host
multi_host_run    the same: this host's process of a run on several hosts
process_group     processes that start and end together
worker_monitor    one worker: state, progress, exit reason
worker_state      states of a worker and their transitions
state_machine     a state that changes only along a table
process_activity  whether a process computes, waits or was stopped
hang_diagnosis    which process the others wait for
restarts          restarts one process while the others go on
launch_log        the launcher's event file
last_captures     converts what lost workers have captured
repetition        runs repeated in turns, to compare two specs
"""
