"""ParameterServerStrategy: variables on servers, workers that pull, compute and push on their own.

The coordinator (process 0) schedules closures, each one step of training; `closure_loop`
drives them, `closure` is what a worker does, `variable_placement` says which variable is where.
The process that serves is `worker.server_worker`: worker and parameter server run one program.
"""
