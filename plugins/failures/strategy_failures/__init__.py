"""Errors of TensorFlow and Keras that are known by what causes them."""
