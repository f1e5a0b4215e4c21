"""InputOptions: one input pipeline per worker, or one per replica.

PER_WORKER builds one dataset for all replicas of a worker. PER_REPLICA calls the dataset function
once for every replica, and each keeps its own pipeline.
"""

import tensorflow as tf


def demonstrate(strategy):
    def dataset_fn(context):
        print("pipeline", context.input_pipeline_id, "of", context.num_input_pipelines)
        return tf.data.Dataset.range(8).batch(2)

    per_worker = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_WORKER,
        experimental_fetch_to_device=False,
    )
    batch = next(iter(strategy.distribute_datasets_from_function(dataset_fn, per_worker)))
    shares = strategy.experimental_local_results(batch)
    print("PER_WORKER gives", [share.numpy().tolist() for share in shares])

    # How a dataset would be split over several workers: by file, by example, or not at all.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    size = 2 * strategy.num_replicas_in_sync
    dataset = tf.data.Dataset.range(size).batch(size).with_options(options)
    batch = next(iter(strategy.experimental_distribute_dataset(dataset)))
    shares = strategy.experimental_local_results(batch)
    print("sharded by example:", [share.numpy().tolist() for share in shares])

    per_replica = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA,
        experimental_fetch_to_device=False,
        experimental_place_dataset_on_device=True,
    )
    batch = next(iter(strategy.distribute_datasets_from_function(dataset_fn, per_replica)))
    shares = strategy.experimental_local_results(batch)
    print("PER_REPLICA gives", [share.numpy().tolist() for share in shares])
