"""The TensorFlow process of a run.

Logical devices, environment, garbage collection and error messages. No model and no step: these
are in `training`.
"""
