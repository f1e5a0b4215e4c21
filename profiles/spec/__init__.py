"""RunSpec, the request for a run: its fields and checks, and specs that other versions stored.

Only what the text alone can tell; checks against a machine are in `strategy_core.planning`.
"""
