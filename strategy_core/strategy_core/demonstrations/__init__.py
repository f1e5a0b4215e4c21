"""Programs of several processes that each show one behaviour of TensorFlow.

Run as `python -m strategy_core.demonstrations.NAME`. No part of the lab imports them.
"""
