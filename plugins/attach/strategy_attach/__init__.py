"""Asks a program that waits to record its next steps."""
