"""Data of one's own: every format trains, every mistake in it has one clear message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from strategy_core.planning import data_path
from strategy_profiles.errors import SpecError
from strategy_profiles.registered import loaded

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NUMBERS = np.random.default_rng(0).uniform(size=(60, 64)).astype("float32")
LABELS = np.arange(60) % 10


def npz(folder: Path, x: Any = NUMBERS, y: Any = LABELS) -> Path:
    path = folder / "data.npz"
    np.savez(path, x=x, y=y)
    return path


def csv(folder: Path) -> Path:
    path = folder / "data.csv"
    _table().to_csv(path, index=False)
    return path


def parquet(folder: Path) -> Path:
    path = folder / "data.parquet"
    _table().to_parquet(path)
    return path


def _table() -> pd.DataFrame:
    names = [f"class {label}" for label in LABELS]  # labels may be words
    return pd.DataFrame(NUMBERS).rename(columns=str).assign(label=names)


def tfrecord(folder: Path) -> Path:
    import tensorflow as tf

    path = folder / "data.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for numbers, label in zip(NUMBERS, LABELS, strict=True):
            feature = {
                "pixels": tf.train.Feature(float_list=tf.train.FloatList(value=numbers)),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return path


def images(folder: Path) -> Path:
    import tensorflow as tf

    for number in range(3):
        kind = folder / "photographs" / f"kind-{number}"
        kind.mkdir(parents=True)
        for copy in range(4):
            pixels = np.full((10, 12, 3), 60 * number + copy, np.uint8)
            tf.io.write_file(str(kind / f"{copy}.png"), tf.io.encode_png(pixels))
    return folder / "photographs"


@pytest.mark.parametrize("write", [npz, csv, parquet, tfrecord, images])
def test_a_format_trains_and_its_stream_has_its_examples(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    from tests.strategy_core.in_memory import opened

    workload = "digits-cnn" if write is images else "digits-mlp"
    training, recorder = opened(
        devices="cpu:2", workload=workload, data=str(write(tmp_path)), global_batch_size=4
    )
    for _ in range(3):
        training.run_step()
    assert np.isfinite(recorder.losses).all()
    assert recorder.examples == [4, 4, 4]


def test_an_epoch_has_every_example_once(tmp_path: Path) -> None:
    from strategy_core import data
    from strategy_core.training.workload import load

    examples = data.read(str(npz(tmp_path)))
    batches = examples.batches(10, 0, 0, load("digits-mlp").build_model())
    epoch = np.concatenate([features for features, _ in batches.take(6)])
    np.testing.assert_array_equal(np.sort(epoch, axis=0), np.sort(NUMBERS, axis=0))


def with_nan() -> Any:
    numbers = NUMBERS.copy()
    numbers[7, 3] = np.nan
    return numbers


@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        ({"x": with_nan()}, "NaN or infinity in the features of example 7"),
        ({"x": NUMBERS[:, :63]}, r"takes examples of shape \(64,\), the data has \(63,\)"),
        ({"y": LABELS + 1}, "labels run from 1 to 10; the model's 10 classes are 0 to 9"),
        ({"y": LABELS[:50]}, "60 examples, 50 labels"),
        ({"x": NUMBERS[:2], "y": LABELS[:2]}, "global_batch_size=4 is more than the 2 examples"),
        ({"x": np.array([{"a": 1}] * 60)}, "x of .*data.npz holds Python objects"),
        ({"x": NUMBERS.astype(str)}, "data.npz are str.*, not real numbers"),
        ({"x": NUMBERS.astype(complex)}, "data.npz are complex128, not real numbers"),
        ({"x": np.float32(3)}, "data.npz holds a single value"),
        ({"y": LABELS / 3}, r"shape of the outputs, not labels float32 \(n,\)"),
        ({"y": np.eye(10, dtype=int)[LABELS]}, r"class numbers .* labels int32 \(n, 10\)"),
    ],
)
def test_bad_arrays_are_refused_before_a_step(
    arrays: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    from tests.strategy_core.in_memory import opened

    with pytest.raises(SpecError, match=rule):
        opened(
            devices="cpu:2",
            workload="digits-mlp",
            data=str(npz(tmp_path, **arrays)),
            global_batch_size=4,
        )


def test_fractional_features_are_refused_for_a_model_of_integers(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened

    path = npz(tmp_path, NUMBERS[:, :32])
    with pytest.raises(SpecError, match="takes whole numbers, but the features have fractions"):
        opened(workload="embedding", data=str(path), global_batch_size=4)


def test_integer_labels_are_values_for_a_model_with_one_output(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(
        devices="cpu:2", workload="synthetic", data=str(npz(tmp_path)), global_batch_size=60
    )
    training.run_step()
    assert recorder.losses[0] > 8, "values from 0 to 9, of which the model knows nothing"


def test_data_with_a_single_label_is_noted(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened

    _, recorder = opened(
        workload="digits-mlp", data=str(npz(tmp_path, y=0 * LABELS)), global_batch_size=4
    )
    assert "All 60 examples of the data have one and the same label" in str(recorder.events)


def test_images_need_a_model_for_images(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened

    with pytest.raises(
        SpecError, match=r"of shape \(64,\), not images \(height, width, channels\)"
    ):
        opened(workload="digits-mlp", data=str(images(tmp_path)), global_batch_size=4)


def records(path: Path, *features: dict[str, list[float]]) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for feature in features:
            lists = {name: tf.train.FloatList(value=values) for name, values in feature.items()}
            named = {name: tf.train.Feature(float_list=each) for name, each in lists.items()}
            example = tf.train.Example(features=tf.train.Features(feature=named))
            writer.write(example.SerializeToString())


def test_records_other_than_examples_are_refused(tmp_path: Path) -> None:
    from strategy_core import data

    path = tmp_path / "data.tfrecord"
    for features, rule in [
        ([{"x": [1.0]}], "Record 0 of .*data.tfrecord has no feature 'label'; its features: x"),
        (
            [{"x": [1.0], "label": []}],
            "'label' of record 0 of .*data.tfrecord holds 0 numbers, not one",
        ),
        ([{"x": [], "label": [1.0]}], "Record 0 of .*data.tfrecord has 0 numbers"),
        (
            [{"x": [1.0], "label": [1.0]}, {"x": [1.0, 2.0], "label": [1.0]}],
            "Record 1 of .* has 2 numbers in its features, the first record 1",
        ),
    ]:
        records(path, *features)
        with pytest.raises(SpecError, match=rule):
            data.read(str(path))
    path.write_bytes(b"this is no record at all")
    with pytest.raises(
        SpecError, match=r"data.tfrecord cannot be read: corrupted record at 0 .*\)\.$"
    ):
        data.read(str(path))


def test_every_format_has_a_reader_and_all_are_named_where_one_is_unknown(tmp_path: Path) -> None:
    from strategy_core.data import Reader

    readers, errors = loaded("data", Reader)
    assert {"csv", "folder", "npz", "parquet", "tfrecord", "tfrecords"} <= readers.keys()
    assert errors == {}
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(SpecError, match=r"a folder of images or .* \.csv, \.npz, \.parquet, \.tfr"):
        data_path.check(str(tmp_path / "notes.txt"))


def test_files_without_usable_data_are_refused(tmp_path: Path) -> None:
    from strategy_core import data

    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    (tmp_path / "words.csv").write_text("a,b,label\n1,x,0\n")
    (tmp_path / "broken.npz").write_bytes(b"no archive")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "names.csv").write_text("a,b,label\n")
    (tmp_path / "nameless.csv").write_text("0.5,1,0\n0.25,2,1\n")
    (tmp_path / "equal.csv").write_text("a," * 100_000 + "label\n" + "1," * 100_000 + "0\n")
    (tmp_path / "other.csv").write_text("a;b;label\n1;2;0\n")
    for name, rule in {
        "absent.csv": "does not exist",
        "notes.txt": "cannot read data in the format of .*notes.txt",
        "empty": "empty has 0 folders with no image",
        "words.csv": "Columns of .*words.csv that are not numbers: b",
        "broken.npz": "broken.npz is not an .npz archive",
        "nothing.csv": "nothing.csv is empty",
        "names.csv": "names.csv holds no examples",
        "nameless.csv": r"instead of column names, such as 0.5, 1, 0\. Name the 3 columns",
        "equal.csv": "Several columns of .*equal.csv have the name a",  # in half a second
        "other.csv": "has 1 column; .* Separate the columns",
    }.items():
        with pytest.raises(SpecError, match=rule):
            data.read(str(tmp_path / name))


def test_a_broken_image_is_named_before_a_step(tmp_path: Path) -> None:
    from strategy_core import data

    folder = images(tmp_path)
    broken = folder / "kind-1" / "2.png"
    broken.write_bytes(broken.read_bytes()[:40])
    with pytest.raises(SpecError, match=r"The image .*kind-1/2.png cannot be read: "):
        data.read(str(folder))


def test_an_image_that_becomes_unreadable_later_is_named(tmp_path: Path) -> None:
    from tests.strategy_core.in_memory import opened, run_steps

    folder = images(tmp_path)
    training, _ = opened(
        devices="cpu:2", workload="digits-cnn", data=str(folder), global_batch_size=4
    )
    (folder / "kind-2" / "3.png").write_text("no image")
    with pytest.raises(SpecError, match=r"kind-2/3.png"):
        run_steps(training, 12)
    training.close()
