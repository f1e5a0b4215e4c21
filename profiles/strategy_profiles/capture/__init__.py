"""From an XPlane file and a graph to the tables of a capture window, without TensorFlow.

docs/reading-a-run.md has the order of the steps. Nothing here reads events or other runs.
"""
