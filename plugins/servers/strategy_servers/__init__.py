"""ParameterServerStrategy: variables on servers; workers pull, compute and push independently.

The coordinator (process 0) schedules closures, each one step of training. `closure_loop` drives
them, `closure` is the work of a worker, `variable_placement` lists which variable is where. Workers
and parameter servers run the same program, `worker.server_worker`.
"""
