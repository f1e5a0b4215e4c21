"""This process as a member of a cluster, which it joins before TensorFlow's runtime starts.

TensorFlow fixes a process's task when its runtime starts and cannot leave a cluster again, so a
change of the cluster needs fresh processes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import tensorflow as tf

from strategy_core.cluster.local_rank import local_rank_of
from strategy_core.cluster.network.ports import REUSE_PORT
from strategy_core.cluster.tasks import Cluster
from strategy_core.planning.gpu_allocation import LocalRank
from strategy_core.private_tf import engine as private_tf
from strategy_profiles.spec.run_spec import RunSpec

REPORT_LOST_PEERS = {"GRPC_FAIL_FAST": "use_caller"}
"""Environment of every process of a cluster with a coordinator.

With it, a call to a process that is gone fails; by default it waits for the process to return.
"""


@dataclass(frozen=True)
class Membership:
    """The number of this process among the run's processes."""

    cluster: Cluster
    process: int
    has_own_launcher: bool = False
    """True if its peers have other launchers, so that no launcher has reserved its port."""

    @property
    def is_leader(self) -> bool:
        """Whether this process writes what is written once per run."""
        return self.process == 0

    @property
    def local_rank(self) -> LocalRank:
        """This process's rank among the workers on its machine."""
        return local_rank_of(self.cluster, self.process, self.has_own_launcher, os.environ)

    def join(self, spec: RunSpec) -> None:
        """Configure TensorFlow for the cluster. Call it before TensorFlow's runtime starts."""
        if not self.has_own_launcher:
            os.environ |= REUSE_PORT
        if self.cluster.has_coordinator:
            os.environ |= REPORT_LOST_PEERS
        os.environ["TF_CONFIG"] = self.cluster.tf_config(self.process)
        if not self.cluster.has_coordinator:
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            private_tf.watch_peers(resolver, spec.cluster.heartbeat_timeout_s)
