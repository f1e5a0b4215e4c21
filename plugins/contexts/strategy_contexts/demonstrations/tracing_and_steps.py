"""Contexts are a fact of tracing.

Inside a tf.function the switches happen once, while it is traced. Later steps run the graph that
tracing made: no Python, no context, no switch.
"""

import tensorflow as tf


def demonstrate(strategy):
    traced = []

    @tf.function
    def program(x):
        def step(x):
            traced.append("a replica is traced")
            return tf.distribute.get_replica_context().all_reduce("SUM", x + 1.0)

        return strategy.run(step, args=(x,))

    for number in range(3):
        result = program(tf.constant(float(number)))
        first = strategy.experimental_local_results(result)[0]
        print("step", number, "gives", float(first), "traced so far:", len(traced))
