"""Commands to a running run, and the widgets that send them.

The form of a new run is in `forms`.
"""
