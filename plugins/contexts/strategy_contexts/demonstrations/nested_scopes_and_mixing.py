"""Nested scopes, and two strategies that meet.

The same strategy's scope may be entered again. Another strategy's scope may not be entered inside.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope(), strategy.scope():
        print("the same scope twice is fine")

    other = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        # Wrong: inside one strategy's scope there is no room for another.
        with other.scope():
            print("never reached")
