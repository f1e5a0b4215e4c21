"""Emulates links between the processes of a run on one host: an interface each, rate, delay."""
