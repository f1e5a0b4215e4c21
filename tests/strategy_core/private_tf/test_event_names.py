"""TensorFlow still names the events of a capture as the lab matches them."""

from __future__ import annotations

import pytest

from strategy_profiles.capture import event_names
from strategy_profiles.capture.xplane_message import message_class

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Names of events and of stats in a capture of a distributed step that is traced in it."""
    import tensorflow as tf

    from strategy_core.private_tf import engine

    folder = tmp_path_factory.mktemp("capture")
    strategy = engine.mirrored_strategy(["CPU:0", "CPU:1"])
    dataset = (
        tf.data.Dataset.range(8)
        .interleave(tf.data.Dataset.from_tensors, cycle_length=2)
        .map(lambda n: tf.cast(n, tf.float32), num_parallel_calls=2)
        .batch(2)
        .prefetch(1)
    )
    batches = iter(strategy.experimental_distribute_dataset(dataset))

    @tf.function
    def step(batch: object) -> object:
        def replica(part: tf.Tensor) -> tf.Tensor:
            total = tf.distribute.get_replica_context().all_reduce(
                "SUM", tf.linalg.matmul(tf.ones([50, 50]), tf.fill([50, 50], part[0]))
            )
            return tf.reduce_sum(total)

        return strategy.reduce("SUM", strategy.run(replica, args=(batch,)), axis=None)

    @tf.function(jit_compile=True)
    def compiled(part: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matmul(part, part)

    session = engine.profiler_session()
    session.start(str(folder), {})
    for number in range(2):
        with tf.profiler.experimental.Trace(event_names.STEP, step_num=number, _r=1):
            step(next(batches))
    compiled(tf.ones([20, 20]))
    session.export_to_tb()
    space = message_class("XSpace").FromString(next(folder.rglob("*.xplane.pb")).read_bytes())
    planes = space.planes
    events = {e.value.name.decode() for plane in planes for e in plane.event_metadata}
    stats = {e.value.name.decode() for plane in planes for e in plane.stat_metadata}
    return events, stats


@pytest.mark.parametrize("pattern", ["OP", "GET_NEXT", "CALL", "CALLED", "COMPILING"])
def test_events_match_the_pattern(names: tuple[set[str], set[str]], pattern: str) -> None:
    matched = getattr(event_names, pattern)
    assert any(matched.match(name) for name in names[0]), f"no event matches {matched.pattern}"


@pytest.mark.parametrize("pattern", ["ASYNC", "STAGE", "TRACING", "STEP"])
def test_events_begin_with_the_name(names: tuple[set[str], set[str]], pattern: str) -> None:
    name = getattr(event_names, pattern)
    assert any(event_name.startswith(name) for event_name in names[0]), (
        f"no event begins with {name}"
    )


@pytest.mark.parametrize("wait", event_names.BATCH_WAITS)
def test_a_wait_for_a_batch_is_a_call_that_takes_one(
    names: tuple[set[str], set[str]], wait: str
) -> None:
    assert any(event_names.GET_NEXT.match(name) and wait in name for name in names[0])


@pytest.mark.parametrize("stat", ["STEP_NUMBER", "STEP_ID", "INSTANCE_KEY", "NODE", "KERNEL"])
def test_tensorflows_events_have_each_stat_that_the_lab_reads(
    names: tuple[set[str], set[str]], stat: str
) -> None:
    assert getattr(event_names, stat) in names[1]


@pytest.mark.parametrize(
    "stat", ["STAGE_NAME", "STAGE_AUTOTUNE", "STAGE_PARALLELISM", "STAGE_BUFFERED", "STAGE_BUFFER"]
)
def test_tensorflows_input_stages_have_each_stat_that_the_lab_reads(
    names: tuple[set[str], set[str]], stat: str
) -> None:
    known = getattr(event_names, stat)
    assert {known} & names[1] if isinstance(known, str) else set(known) & names[1]


def test_a_stage_has_the_numbers_of_its_input_elements(names: tuple[set[str], set[str]]) -> None:
    stages = [name for name in names[0] if name.startswith(event_names.STAGE)]
    assert any(event_names.STAGE_ELEMENT.search(name) for name in stages), stages


def test_the_capture_says_when_it_began_and_ended(names: tuple[set[str], set[str]]) -> None:
    assert {event_names.PROFILE_START.decode(), event_names.PROFILE_STOP.decode()} <= names[1]


def test_a_collective_is_an_op_by_its_own_name(names: tuple[set[str], set[str]]) -> None:
    ops = {split[1] for name in names[0] if (split := event_names.split_op_name(name))}
    assert "CollectiveReduceV2" in ops or "CollectiveReduce" in ops, sorted(ops)
