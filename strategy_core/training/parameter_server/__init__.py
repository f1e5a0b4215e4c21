"""ParameterServerStrategy: variables on servers, workers that pull, compute and push on their own.

The coordinator (process 0) schedules closures, each one step of training; `loop` drives them,
`step` is what a worker does, `served` is what sits where. The process that serves is
`cluster.server_run`: worker and parameter server are one program, told apart by who is sent what.
"""
