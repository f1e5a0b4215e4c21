"""The network of a run on one host: namespaces, emulated links, ports.

Free of TensorFlow; what it measures is in `telemetry`.
"""
