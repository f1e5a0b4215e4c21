"""The scenes of the course, one a file. A scene computes its answer from a recording only."""
