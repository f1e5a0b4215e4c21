"""scope(): variables made inside are mirrored.

Inside the scope the strategy makes every variable: one copy per replica's device, kept equal.
"""

import tensorflow as tf


def demonstrate(strategy):
    outside = tf.Variable(1.0, name="outside")
    with strategy.scope():
        inside = tf.Variable(2.0, name="inside")

    print("outside is a", type(outside).__name__)
    print("inside is a", type(inside).__name__)
    for replica, copy in enumerate(strategy.experimental_local_results(inside)):
        print("copy", replica, "is", copy.numpy())

    # Written once in cross-replica context, every copy changes.
    with strategy.scope():
        inside.assign(3.0)
    for replica, copy in enumerate(strategy.experimental_local_results(inside)):
        print("copy", replica, "is now", copy.numpy())

    print("made in scope:", strategy.extended.variable_created_in_scope(inside))
    print("made outside:", strategy.extended.variable_created_in_scope(outside))
