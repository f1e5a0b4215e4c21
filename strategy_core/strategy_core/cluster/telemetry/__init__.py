"""Measurements between the processes of a cluster: clock offsets, and bytes per link.

Readings only; `strategy_profiles.clocks` and `strategy_profiles.analysis.links` interpret them.
"""
