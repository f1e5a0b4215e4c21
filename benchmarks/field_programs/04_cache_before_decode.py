# source: tensorflow#33320 (reading TFRecord with MirroredStrategy is slow), pictures are decoded in every epoch
import os
import tempfile

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.random.set_seed(20)

PICTURES, SIDE, BATCH, EPOCHS = 320, 576, 16, 4
path = os.path.join(tempfile.mkdtemp(), "pictures.tfrecord")


def write():
    rng = np.random.default_rng(20)
    with tf.io.TFRecordWriter(path) as out:
        for i in range(PICTURES):
            picture = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            picture[: SIDE // 2] //= 1 + i % 3
            example = tf.train.Example(features=tf.train.Features(feature={
                "jpeg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.io.encode_jpeg(picture).numpy()])),
                "class": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 3])),
            }))
            out.write(example.SerializeToString())


def read(record):
    parsed = tf.io.parse_single_example(record, {
        "jpeg": tf.io.FixedLenFeature([], tf.string),
        "class": tf.io.FixedLenFeature([], tf.int64),
    })
    picture = tf.io.decode_jpeg(parsed["jpeg"], channels=3)
    picture = tf.image.resize(picture, (64, 64), antialias=True) / 255.0
    return picture, parsed["class"]


write()
records = tf.data.TFRecordDataset(path).cache()
pictures = records.map(read).batch(BATCH, drop_remainder=True).repeat(EPOCHS).prefetch(1)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
feed = iter(strategy.experimental_distribute_dataset(pictures))
with strategy.scope():
    kernel = tf.Variable(tf.random.normal((5, 5, 3, 8), stddev=0.1, seed=1))
    head = tf.Variable(tf.random.normal((8, 3), stddev=0.3, seed=2))


@tf.function
def train_step(picture, label):
    def run(picture, label):
        with tf.GradientTape() as tape:
            maps = tf.nn.relu(tf.nn.conv2d(picture, kernel, 2, "VALID"))
            logits = tf.reduce_mean(maps, (1, 2)) @ head
            loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)) / BATCH
        grads = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, [kernel, head]))
        kernel.assign_sub(0.1 * grads[0])
        head.assign_sub(0.1 * grads[1])
        return loss
    return strategy.reduce("sum", strategy.run(run, args=(picture, label)), axis=None)


for step, (picture, label) in enumerate(feed):
    loss = train_step(picture, label)
    if step % 20 == 19:
        print("step", step + 1, "loss", float(loss))
print("RESULT %.6f" % float(loss))
