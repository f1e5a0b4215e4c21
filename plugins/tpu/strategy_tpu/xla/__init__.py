"""Checks a traced step against a real TPU's compiler; the entry is `check`.

Nothing here is executed on the emulated cores.
"""
