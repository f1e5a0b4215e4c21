"""Two ways to give each replica its share of the data.

experimental_distribute_dataset splits one global batch; distribute_datasets_from_function asks the
program for a dataset of per-replica batches, and says in InputContext which part it is.
"""

import tensorflow as tf


def demonstrate(strategy):
    replicas = strategy.num_replicas_in_sync
    whole = tf.data.Dataset.range(2 * replicas).batch(2 * replicas)
    batch = next(iter(strategy.experimental_distribute_dataset(whole)))
    for replica, share in enumerate(strategy.experimental_local_results(batch)):
        print("from one dataset, replica", replica, "has", share.numpy().tolist())

    def dataset_fn(context):
        print("input pipeline", context.input_pipeline_id, "of", context.num_input_pipelines)
        size = context.get_per_replica_batch_size(2 * replicas)
        return tf.data.Dataset.range(2 * replicas).batch(size)

    batch = next(iter(strategy.distribute_datasets_from_function(dataset_fn)))
    for replica, share in enumerate(strategy.experimental_local_results(batch)):
        print("from a function, replica", replica, "has", share.numpy().tolist())
