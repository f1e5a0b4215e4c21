"""What a real TPU's compiler would say of a traced step; `check` is the entry.

Nothing here is executed on the emulated cores.
"""
