"""A training loop beside other work of TensorFlow's, or with an end in the middle of a step.

The second argument says what.
"""

import os
import sys
import threading

import numpy as np
import tensorflow as tf

how = sys.argv[2]
data = np.random.default_rng(0).normal(size=(640, 8)).astype("float32")
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
if how.startswith("asynchronous"):
    tf.config.experimental.set_synchronous_execution(False)
weights = tf.Variable(tf.zeros((8, 3)))


def stop(number):
    if number == 7 and how == "killed in a step":
        sys.stdout.flush()
        os._exit(3)
    if number == 7 and how == "raised in a step":
        raise KeyError("in the middle of a step")
    return np.float32(0.0)


@tf.function
def train_step(batch, number):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    gradient = tape.gradient(loss, weights)
    if how.endswith("in a step"):
        loss += tf.numpy_function(stop, [number], tf.float32)
    if how == "asynchronous with an error":
        tf.debugging.assert_less(number, 7, message="of the program")
    weights.assign_sub(0.1 * gradient)
    return loss


def batches():
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(16)
    if how != "data service":
        return dataset
    dispatcher = tf.data.experimental.service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    config = tf.data.experimental.service.WorkerConfig(dispatcher_address=address)
    servers.extend([dispatcher, tf.data.experimental.service.WorkerServer(config)])
    return dataset.apply(
        tf.data.experimental.service.distribute(
            processing_mode="parallel_epochs", service=dispatcher.target
        )
    )


def beside(number):
    """Compute eagerly, on variables of its own, until the loop has ended."""
    own = tf.Variable(tf.ones((16, 16)))
    while not is_over.is_set():
        own.assign(tf.matmul(own, own) / 16.0)
    sums[number] = float(own.numpy().sum())


def fork():
    pid = os.fork()
    if not pid:
        os._exit(5)
    children.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


servers, sums, children, is_over = [], {}, [], threading.Event()
threads = []
if how == "threads":
    threads = [threading.Thread(target=beside, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for number, batch in enumerate(batches()):
    try:
        loss = train_step(batch, tf.constant(number))
    except tf.errors.InvalidArgumentError as error:
        print("of the program" in str(error))
        break
    if how == "forks" and number % 8 == 3:
        fork()
    if how == "left in a step" and number == 7:
        sys.exit(4)
is_over.set()
for thread in threads:
    thread.join()
np.save(sys.argv[1], weights.numpy().ravel())
print(f"{float(loss):.6f}", sorted(sums.items()), children)
