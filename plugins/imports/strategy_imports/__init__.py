"""Profiles of other programs as run folders: XPlane files and Chrome traces. Needs no TensorFlow.

`importer.IMPORTER` is what the lab finds. The files of one host become a `recording.Recording`; the
other modules find in it steps, replicas, collectives and phases, and write the run's tables. What a
profile means is not decided here: an imported run is analysed like any other.
"""
