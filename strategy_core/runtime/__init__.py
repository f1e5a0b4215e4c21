"""TensorFlow's process around a run:

logical devices, environment, garbage collection, error messages.
"""
