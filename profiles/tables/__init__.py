"""The tables of a run and SQL over them, read from the run folder.

Each column has one meaning, in `schema`.
"""
