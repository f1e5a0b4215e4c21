"""What a real TPU's compiler would say of a traced step: see `check`."""
