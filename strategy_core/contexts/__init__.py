"""See every switch between default, replica, cross-replica and update context.

    with trace_contexts() as trace:
        strategy.run(step, args=(batch,))
    for entry in trace.entries: ...

`tracer.py` keeps the book, `patches.py` puts the hooks into tf.distribute and takes them out again,
`values.py` says what travels, `source.py` finds the user's line.
"""

from __future__ import annotations

from strategy_core.contexts.tracer import ContextTrace, Entry, trace_contexts

__all__ = ["ContextTrace", "Entry", "trace_contexts"]
