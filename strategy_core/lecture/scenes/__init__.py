"""The scenes of the course, one a file."""
