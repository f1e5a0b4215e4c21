"""Offsets between the clocks of workers, estimated from the messages they exchanged.

The exchange itself is in `strategy_core.cluster.telemetry`.
"""
