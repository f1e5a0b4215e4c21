"""Where the wall time of the thread that trains went, divided once.

`account` is the question; `regions` divides the time between steps and the rest, `step_time` the
time within steps, `op_time` the computation by op and layer.
"""
