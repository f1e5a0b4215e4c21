"""The run folder: its files, events, manifest, status and commands, read and written.

No tables and no analysis.
"""
