"""Why did the run fail? Errors of TensorFlow and Keras, known by what causes them.

`known` is the table of errors, `explain` finds the entry of an error, and its replica, layer, line
and step.
"""
