"""Measurements between the processes of a cluster: clock offsets, and bytes per link.

Readings only; `profiles.clocks` and `profiles.analysis.links` interpret them.
"""
