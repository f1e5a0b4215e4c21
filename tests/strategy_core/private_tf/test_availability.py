"""A private name that is gone costs the feature that needs it, says so, and costs nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.private_tf import availability
from strategy_profiles.errors import LabError

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


@pytest.fixture(autouse=True)
def nothing_lost_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert availability.new_losses() == [], "this TensorFlow has every private name"
    monkeypatch.setattr(availability, "_costs", {})
    monkeypatch.setattr(availability, "_told", set())


def only_new_loss() -> str:
    (sentence,) = availability.new_losses()
    return sentence


def test_a_lost_name_is_reported_once_with_the_versions_and_its_cost() -> None:
    for _ in range(2):
        assert availability.private("tensorflow.python.eager.context:gone", "x is slow") is None
    sentence = only_new_loss()
    assert sentence.startswith("TensorFlow 2.")
    assert sentence.endswith("has no tensorflow.python.eager.context:gone: x is slow.")
    assert availability.new_losses() == []


def test_a_lost_module_is_reported_like_a_lost_name() -> None:
    assert availability.private("tensorflow.python.nowhere:name", "x is slow") is None
    assert "tensorflow.python.nowhere:name" in only_new_loss()


def test_what_a_feature_cannot_do_without_is_refused_in_a_sentence() -> None:
    with pytest.raises(LabError, match=r"The trace of contexts needs .*:gone, which TensorFlow 2"):
        availability.required("tensorflow.python.eager.context:gone", "The trace of contexts")


def test_without_its_key_base_a_mirrored_strategy_is_tensorflows_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine

    for owner in tf.distribute.MirroredStrategy.__mro__:
        if "_collective_key_base" in vars(owner):
            monkeypatch.delattr(owner, "_collective_key_base")
    # Its own constructor reads the name, so only the choice of class is looked at here.
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", lambda *given: given)
    assert engine.mirrored_strategy(["CPU:0", "CPU:1"]) == (["CPU:0", "CPU:1"], None)
    assert "_collective_key_base: a second MirroredStrategy" in only_new_loss()


def test_without_its_private_options_a_strategy_refuses_another_algorithm() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine

    stock = tf.distribute.MirroredStrategy(["CPU:0"])
    with pytest.raises(LabError, match="Another algorithm in a running MirroredStrategy needs"):
        engine.reduce_by(stock, None, None)


def test_without_the_hook_in_optimizers_steps_train_alike_and_have_no_timestamps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from strategy_core.private_tf import engine
    from tests.strategy_core.in_memory import InMemoryRecorder, opened, run_steps

    def two_steps() -> InMemoryRecorder:
        training, recorder = opened(
            devices="cpu:2", workload="digits-mlp", global_batch_size=8, seed=1
        )
        run_steps(training, 2)
        training.close()
        return recorder

    stock = two_steps()
    monkeypatch.setattr(engine, "can_replace_all_reduce", lambda _: False)
    without = two_steps()
    assert None not in stock.marks
    assert without.marks == [None, None]
    assert without.losses == pytest.approx(stock.losses, rel=1e-5)


def test_without_the_hook_a_delay_in_a_users_step_is_refused() -> None:
    from strategy_core.private_tf import engine

    with pytest.raises(LabError, match="A delay inside a replica's step needs"):
        engine.check_can_delay(object())
    assert "light timestamps" in only_new_loss()  # which need the same hook


def test_without_the_private_session_captures_go_through_the_public_profiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine

    monkeypatch.setattr(availability, "_find", lambda _: None)  # the public one uses it, too
    session = engine.profiler_session()
    session.start(str(tmp_path), {})
    tf.constant(1.0) + tf.constant(2.0)
    session.export_to_tb()
    assert list(tmp_path.rglob("*.xplane.pb"))
    assert "holds the training up" in only_new_loss()


def test_without_the_device_part_of_an_iterator_data_still_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tensorflow.python.data.ops import multi_device_iterator_ops

    from strategy_core.private_tf import engine

    monkeypatch.delattr(multi_device_iterator_ops, "_create_device_dataset")
    with engine.iterators_without_autotune():
        pass
    assert "_create_device_dataset" in only_new_loss()


def test_without_a_configurable_service_a_silent_worker_has_tensorflows_own_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tensorflow.python.eager import context

    from strategy_core.private_tf import engine

    monkeypatch.delattr(context.Context, "configure_coordination_service")
    engine.watch_peers(None, 30)  # type: ignore[arg-type]
    assert "10 s, not after 30 s" in only_new_loss()


def test_a_remote_value_without_its_event_is_waited_for() -> None:
    from strategy_core.private_tf import engine

    assert engine.is_there(object())
    assert "in the order in which it scheduled them" in only_new_loss()
