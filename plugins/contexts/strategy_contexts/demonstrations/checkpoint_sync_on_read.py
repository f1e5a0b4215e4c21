"""A checkpoint of SyncOnRead variables.

Both are saved as they read. A SUM variable is restored as equal shares, so that the sum is right
again; a MEAN variable is restored whole into every replica. What each replica held is lost.
"""

import tempfile

import tensorflow as tf


def demonstrate(strategy):
    variables = {}
    with strategy.scope():
        for name in ("SUM", "MEAN"):
            variables[name] = tf.Variable(
                0.0,
                name=name.lower(),
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation[name],
            )

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        for variable in variables.values():
            variable.assign(tf.cast(replica, tf.float32) + 1.0)

    def show(when):
        for name, variable in variables.items():
            parts = [float(part) for part in strategy.experimental_local_results(variable)]
            print(when, name, parts)

    strategy.run(step)
    show("before:")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tf.train.Checkpoint(**variables)
        path = checkpoint.write(f"{folder}/state")
        checkpoint.read(path).assert_consumed()
    show("restored:")
