"""update: run a function beside each copy of a variable.

The function is called once per device that holds the variable, in update context, with the copy and
the arguments' components on that device. group=False returns what each call gave.
"""

import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        variable = tf.Variable(1.0, name="variable")
        strategy.extended.update(variable, lambda copy: copy.assign_add(1.0))
        print("after update:", variable.numpy())

        each = strategy.extended.update(
            variable, lambda copy, factor: copy.assign(copy * factor), args=(3.0,), group=False
        )
        print("ungrouped results:", len(tf.nest.flatten(each)))
        print("after the second update:", variable.numpy())
