"""Run by test_tpu_pod in a process of its own: trains on a pod and prints what it saw as JSON."""

from __future__ import annotations

import json

import tensorflow as tf

from strategy_core import tpu
from strategy_tpu.assignment import host_of


def between_hosts(strategy) -> int:
    """How many tensors one step sends from host to host."""
    transfers = strategy.extended.last_expansion.transfers
    return sum(host_of(each.send_device) != host_of(each.recv_device) for each in transfers)


def main() -> None:
    pipelines = []

    def dataset_fn(context):
        pipelines.append(context.input_pipeline_id)
        return tf.data.Dataset.range(4).batch(1).repeat()

    with tpu.Pod(num_hosts=2, cores_per_host=2) as pod:
        strategy = tpu.build(pod=pod)
        with strategy.scope():
            weight = tf.Variable(1.0)
        batches = iter(strategy.distribute_datasets_from_function(dataset_fn))

        @tf.function
        def step(batches):
            def replica_fn(x):
                context = tf.distribute.get_replica_context()
                total = context.all_reduce("sum", tf.reduce_sum(tf.cast(x, tf.float32)))
                weight.assign_add(total)
                return total

            return strategy.reduce("mean", strategy.run(replica_fn, args=(next(batches),)), None)

        totals = [float(step(batches)) for _ in range(2)]
        crossings = between_hosts(strategy)

        @tf.function
        def exchange():
            def replica_fn():
                context = tf.distribute.get_replica_context()
                own = 10 * context.replica_id_in_sync_group + tf.range(4)
                every = [list(range(4))]
                return tf.raw_ops.AllToAll(
                    input=own,
                    group_assignment=every,
                    concat_dimension=0,
                    split_dimension=0,
                    split_count=4,
                )

            return strategy.run(replica_fn)

        exchanged = [value.numpy().tolist() for value in exchange().values]
        seen = {
            "crossings": crossings,
            "exchanged": exchanged,
            "exchange_crossings": between_hosts(strategy),
            "totals": totals,
            "weights": [float(v.numpy()) for v in weight.values],
            "devices": [v.device for v in weight.values],
            "hosts": strategy.extended.num_hosts,
            "replicas_per_host": strategy.extended.num_replicas_per_host,
            "pipelines": sorted(set(pipelines)),
            "ops": sorted(strategy.extended.last_expansion.ops_by_device),
        }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
