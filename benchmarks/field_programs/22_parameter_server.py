"""Ratings model with a parameter server and two workers, all on this machine."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import socket
import time

import numpy as np
import tensorflow as tf

USERS, ITEMS, DIM, BATCH, ROUNDS, EPOCHS = 3000, 1500, 16, 128, 90, 2


def start_servers(workers=2):
    sockets = [socket.socket() for _ in range(workers + 1)]
    for s in sockets:
        s.bind(("localhost", 0))
    hosts = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    spec = tf.train.ClusterSpec({"worker": hosts[:workers], "ps": hosts[workers:]})
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=workers + 2)
    servers = [tf.distribute.Server(spec, job_name="worker", task_index=i, config=config)
               for i in range(workers)]
    servers.append(tf.distribute.Server(spec, job_name="ps", task_index=0))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
    return resolver, servers


def ratings(context):
    seed = 100 + (context.input_pipeline_id if context else 0)
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, USERS, 20000), rng.integers(0, ITEMS, 20000)
    stars = 3 + np.sin(users * 0.01) + np.cos(items * 0.02) + 0.3 * rng.normal(size=20000)
    data = tf.data.Dataset.from_tensor_slices(
        (users.astype("int32"), items.astype("int32"), stars.astype("float32")))
    return data.shuffle(20000, seed=seed).repeat().batch(BATCH).prefetch(2)


class Factors(tf.Module):
    def __init__(self):
        super().__init__()
        self.users = tf.Variable(tf.random.normal((USERS, DIM), stddev=0.1, seed=1))
        self.items = tf.Variable(tf.random.normal((ITEMS, DIM), stddev=0.1, seed=2))
        self.offset = tf.Variable(3.0)

    def __call__(self, users, items):
        u, v = tf.gather(self.users, users), tf.gather(self.items, items)
        return tf.reduce_sum(u * v, -1) + self.offset


class Driver:
    def __init__(self, resolver):
        self.strategy = tf.distribute.ParameterServerStrategy(resolver)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        with self.strategy.scope():
            self.model = Factors()
        data = self.coordinator.create_per_worker_dataset(
            lambda: self.strategy.distribute_datasets_from_function(ratings))
        self.batches = iter(data)

    def replica_step(self, users, items, stars):
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(users, items) - stars) ** 2)
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(0.2 * tf.convert_to_tensor(g))
        return loss

    def make_step(self):
        @tf.function
        def step(iterator):
            return self.strategy.run(self.replica_step, args=next(iterator))
        return step

    def settle(self, pause=0.05):
        """Returns when no scheduled step is left."""
        while not self.coordinator.done():
            time.sleep(pause)

    def epoch(self, step):
        losses = []
        for _ in range(ROUNDS):
            for _ in range(2):
                losses.append(self.coordinator.schedule(step, args=(self.batches,)))
            self.settle()
        return float(np.mean([l.fetch() for l in losses[-20:]]))


def main():
    resolver, servers = start_servers()
    driver = Driver(resolver)
    step = driver.make_step()
    for epoch in range(EPOCHS):
        print(f"epoch {epoch} mean squared error {driver.epoch(step):.4f}", flush=True)
    print("servers used:", len(servers))


if __name__ == "__main__":
    main()
    os._exit(0)
