"""Several processes as one training run: who is in it, where, and how they are kept together."""
