"""The calls of `Dataset.map` in a program are found, with what their functions do."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis.map_calls import MapCall, map_calls

TRAIN = "/home/me/train.py"
HEAD = """
import tensorflow as tf

def parse(path):
    return read(path)

def read(path):
    return tf.io.decode_png(tf.io.read_file(path))

def scale(row):
    return tf.math.log(row + 1.0)

class Augment:
    def crop(self, picture):
        return tf.image.random_crop(picture, [8, 8, 3])
"""


def _calls(*lines: str) -> tuple[MapCall, ...]:
    return map_calls({TRAIN: "\n".join((HEAD, *lines))})


@pytest.mark.parametrize(
    ("line", "function", "draws", "takes_batches"),
    [
        ("ds = ds.map(parse)", "parse", False, False),
        ("ds = ds.map(scale, num_parallel_calls=2)", "scale", False, True),
        ("ds = ds.map(Augment().crop)", "Augment().crop", True, False),
        ("ds = ds.map(lambda x, y: (x / 255.0, y))", "lambda", False, True),
        ("ds = ds.map(library.parse_row)", "library.parse_row", True, False),
    ],
    ids=["reads", "computes", "draws", "lambda", "not in the file"],
)
def test_what_the_function_of_map_does_is_read_with_what_it_calls(
    line: str, function: str, draws: bool, takes_batches: bool
) -> None:
    (call,) = _calls(line)
    assert call.at.text == line
    assert (call.function, call.draws, call.takes_batches) == (function, draws, takes_batches)


def test_calls_of_one_chain_are_in_its_order() -> None:
    chain = ["ds = (", "    ds.map(parse)", "    .cache()", "    .map(scale).map(parse)", ")"]
    first, second, third = _calls(*chain)
    assert [each.function for each in (first, second, third)] == ["parse", "scale", "parse"]
    assert second.at.line == first.at.line + 2
    assert second.at.line == third.at.line


def test_a_file_that_is_no_python_has_no_calls() -> None:
    assert map_calls({TRAIN: "%matplotlib inline\nds.map(parse)"}) == ()
