"""Errors of devices, strategies and clusters of several processes."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

CLUSTERS = (
    Known(
        "no-device",
        r"Could not satisfy (?:explicit )?device specification",
        "the program names a device that this process does not have",
        "Look at tf.config.list_logical_devices(). Leave out the devices, and "
        "MirroredStrategy() takes all GPUs.",
    ),
    Known(
        "device-twice",
        r"No duplicates allowed in `devices` argument",
        "the strategy was given one device twice",
        "Name each device once. tf.config.set_logical_device_configuration divides one device "
        "into several.",
    ),
    Known(
        "devices-late",
        r"(?:Virtual|Visible) devices cannot be modified after being initialized|"
        r"cannot be modified after initialization",
        "devices, or their threads, were set after TensorFlow had started",
        "Move the call of tf.config before the first tensor, strategy and model.",
    ),
    Known(
        "collectives-late",
        r"Collective ops must be configured at program startup",
        "MultiWorkerMirroredStrategy was made after TensorFlow had started",
        "Make it before the first tensor, dataset and model, and only once in a process.",
    ),
    Known(
        "tf-config",
        r"tfconfig_cluster_resolver\.py.*JSONDecodeError|`task_id` \d+ exceeds the maximum id|"
        r"`task_type` '\w+' not found in cluster_spec|Disallowed task type found in cluster spec|"
        r"When `cluster_spec` is given, you must also specify `task_type`",
        "the environment variable TF_CONFIG does not describe this process and its cluster",
        'Write it as JSON: {"cluster": {"worker": ["host:port", ...]}, "task": {"type": '
        '"worker", "index": 0}}. The cluster is the same in all processes; the index counts '
        "from 0 and differs.",
        is_of_traceback=True,
    ),
    Known(
        "no-servers",
        r"There must be at least one (?:ps|worker)|Cluster spec must be non-empty",
        "ParameterServerStrategy needs parameter servers and workers, and its cluster has none",
        'Name them in the cluster of TF_CONFIG as "ps" and "worker", and start '
        "tf.distribute.Server in each of these processes.",
    ),
    Known(
        "coordinator-strategy",
        r"Strategy' object has no attribute '_cluster_coordinator'",
        "ClusterCoordinator was given another strategy than ParameterServerStrategy",
        "Make it with a tf.distribute.ParameterServerStrategy; other strategies need no "
        "coordinator: call strategy.run.",
    ),
    Known(
        "port-in-use",
        r"Could not start gRPC server",
        "the port of this process is used by another one, or is not allowed",
        "Choose a free port in TF_CONFIG; end processes that an earlier run left behind.",
    ),
    Known(
        "no-tpu",
        r"Please provide a TPU Name to connect to|TPUs not found in the cluster",
        "the program wants a TPU, and this machine is not connected to one",
        "Give TPUClusterResolver the name of the TPU, or tpu='local' on a TPU VM. Strategy "
        "Lab can emulate TPU cores on CPUs.",
    ),
    Known(
        "fit-on-workers",
        r"keras/src/.*Attempt to convert a value \(PerReplica",
        "fit() of Keras 3 averages the first batch over the replicas to build the model, which "
        "fails on several workers",
        "Train in a loop of your own: strategy.run in a tf.function. Or install tf_keras and set "
        "the environment variable TF_USE_LEGACY_KERAS=1: fit() of Keras 2 trains on workers.",
        is_of_traceback=True,
    ),
    Known(
        "lost-worker",
        r"\bUnavailableError\b",
        "another process of the cluster could not be reached",
        "Look at the record of the process that ended first.",
    ),
)
