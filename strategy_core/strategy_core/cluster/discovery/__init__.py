"""Finds the tasks of a cluster: addresses, engines, and whether they answer. Without TensorFlow."""
