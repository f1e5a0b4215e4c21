"""Where AutoGraph's generated files are, so that a process that ends at once can remove them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from strategy_core.private_tf.autograph_files import (
    PREFIX,
    name_generated_files,
    remove_generated_files,
)
from strategy_core.processes.descendants import remove_marked_files

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def test_every_file_that_autograph_has_written_is_found_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tensorflow as tf

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one = tf.autograph.to_graph(lambda x: x + 1 if x > 0 else x - 1)
    tf.function(lambda x: one(x) if tf.reduce_sum(x) > 0 else x)(tf.constant(1.0))
    assert list(tmp_path.glob(f"{PREFIX}*.py")), "AutoGraph names its files differently"
    remove_generated_files()
    assert list(tmp_path.rglob(f"{PREFIX}*")) == []
    remove_generated_files()  # AutoGraph's own handler, too, takes it well that they are gone


def test_files_with_a_mark_in_their_names_are_found_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a launcher removes those of a worker that was killed."""
    import tensorflow as tf
    from tensorflow.python.autograph.pyct import loader

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(loader, "tempfile", tempfile)  # put back after the test
    name_generated_files("mark-1_")
    one = tf.autograph.to_graph(lambda x: x + 2 if x > 0 else x - 2)
    assert one(tf.constant(1.0)) == 3.0
    (file,) = tmp_path.glob("*.py")
    assert file.name.startswith(f"{PREFIX}mark-1_")
    remove_marked_files("mark-2_")
    assert file.exists()
    remove_marked_files("mark-1_")
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == []
