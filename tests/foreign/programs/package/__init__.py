"""A package whose program is run as a module."""
