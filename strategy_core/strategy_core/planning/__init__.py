"""What can be decided about a run before anything starts: strategies, devices, validation.

Also what may change in place. Free of TensorFlow: page, command line and worker all ask here.
"""
