"""What can be decided about a run before anything starts:

strategies, devices, algorithms, validation,
and what may change in place. Free of TensorFlow."""
