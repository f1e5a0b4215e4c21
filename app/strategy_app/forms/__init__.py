"""The form of a new run: pickers for the parts of a RunSpec.

Nothing here commands a running run (`control`) or decides what is allowed (`planning`).
"""
