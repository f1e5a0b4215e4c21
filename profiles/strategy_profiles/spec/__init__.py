"""RunSpec, the request for a run: its fields and checks, and specs that other versions stored.

What a strategy or a machine asks of a spec is checked in `strategy_core.planning`.
"""
