"""One host of an emulated pod: a TensorFlow server that runs while its stdin is open.

python -m strategy_tpu.pod_host '{"job": ..., "addresses": [...], "task": 0, "cores": 4}'
"""

from __future__ import annotations

import json
import os
import sys

import tensorflow as tf


def main() -> None:
    """Serve until stdin ends, which happens when the program that started the host is gone."""
    request = json.loads(sys.argv[1])
    config = tf.compat.v1.ConfigProto(device_count={"CPU": request["cores"]})
    server = tf.distribute.Server(
        {request["job"]: request["addresses"]},
        job_name=request["job"],
        task_index=request["task"],
        config=config,
    )
    print("ready", flush=True)
    sys.stdin.read()
    del server
    os._exit(0)  # a server has no orderly shutdown


if __name__ == "__main__":
    main()
