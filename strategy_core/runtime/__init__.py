"""TensorFlow's process around a run: logical devices, environment, GC, error messages.

Nothing here knows a step or a model.
"""
