"""Every use of a private TensorFlow or Keras API, each with its reason and its test.

Nothing else, and no private API elsewhere.
"""
