"""ParameterServerStrategy: variables on servers, workers that pull, compute and push on their own.

The coordinator (process 0) schedules closures, each one step of training; `loop` drives them,
`step` is what a worker does, `servers` is what sits where, `server_run` is the process that
serves: a worker and a parameter server are the same program, told apart by who is sent what.
"""
