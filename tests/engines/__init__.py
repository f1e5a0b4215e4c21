"""Checks that need more than the lab's own packages: each has a venv and a make target."""
