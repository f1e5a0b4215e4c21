"""Where there is a real TPU nothing is emulated: TensorFlow's own objects are handed out.

No TPU is at hand here; what is asked of TensorFlow is looked at instead.
"""

from __future__ import annotations

import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_tpu import cores, resolver

pytestmark = pytest.mark.tf

STOCK = tf.distribute.cluster_resolver.TPUClusterResolver


@pytest.fixture
def attached(monkeypatch):
    for module in (cores, resolver):
        monkeypatch.setattr(module, "has_real_tpu", lambda: True)


@pytest.mark.usefixtures("attached")
def test_the_resolver_is_the_stock_one():
    assert type(tpu.TPUClusterResolver(tpu="local")) is STOCK
    assert type(tpu.TPUClusterResolver(tpu="local", topology_shape=(1, 1, 1, 2))) is STOCK


@pytest.mark.usefixtures("attached")
def test_no_virtual_cores_are_made():
    assert tpu.configure_virtual_cores(8) == []


def test_the_strategy_is_the_stock_one(monkeypatch):
    calls, emulated = [], tpu.TPUStrategy
    monkeypatch.setattr(
        tf.distribute, "TPUStrategy", lambda *a, **k: calls.append((a, k)) or "real"
    )
    stock = STOCK("local")
    made = emulated(stock, experimental_spmd_xla_partitioning=True)
    assert made == "real"
    assert calls == [((stock,), {"experimental_spmd_xla_partitioning": True})]


def test_connecting_and_initializing_go_to_tensorflow(monkeypatch):
    called = []
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", called.append)
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", called.append)
    monkeypatch.setattr(tf.tpu.experimental, "shutdown_tpu_system", called.append)
    stock = STOCK("local")
    tpu.connect_to_cluster(stock)
    tpu.initialize_tpu_system(stock)
    tpu.shutdown_tpu_system(stock)
    assert called == [stock] * 3
