"""From a raw profiler capture to tables, without TensorFlow.

xplane_message   the file's outer shape, read by protobuf; events stay bytes
wire             those bytes to columns, vectorised
xspace           the few kinds of events that say something about a distributed step
graph            who runs what: the placement, and what each op depends on
intervals        sets of time intervals: union, intersection, difference
attribution      each replica's step: compute, wait, transfer, input, idle
collectives      the collectives in it, measured or derived
convert          all of it, written as the tables of a window
"""
