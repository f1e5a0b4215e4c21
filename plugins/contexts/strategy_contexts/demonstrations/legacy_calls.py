"""Calls of TensorFlow 1 that StrategyExtended still has.

Today's programs use run, reduce and gather, and a loop in a tf.function where TensorFlow 1 had
experimental_run_steps_on_iterator. Shown where the chosen strategy still has them.
"""

import tensorflow as tf


def demonstrate(strategy):
    extended = strategy.extended
    with strategy.scope():
        variable = tf.Variable(4.0, name="variable")
        if hasattr(extended, "broadcast_to"):
            copies = extended.broadcast_to(tf.constant(2.0), variable)
            sent = strategy.experimental_local_results(copies)
            print("broadcast_to gives", [float(x) for x in sent])
        if hasattr(extended, "read_var"):
            print("read_var gives", float(tf.convert_to_tensor(extended.read_var(variable))))
        container = extended.value_container(strategy.experimental_local_results(variable)[0])
        print("value_container finds the variable:", container is variable)
        if hasattr(extended, "non_slot_devices"):
            places = tf.nest.flatten(extended.non_slot_devices([variable]))
            print("non-slot variables go to", len(places), "device(s)")
        if hasattr(extended, "call_for_each_replica"):
            results = extended.call_for_each_replica(lambda: tf.constant(1.0))
            total = sum(float(x) for x in strategy.experimental_local_results(results))
            print("call_for_each_replica called", int(total), "replica(s)")
