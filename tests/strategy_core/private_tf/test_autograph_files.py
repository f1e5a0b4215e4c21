"""Where AutoGraph's generated files are, so that a process that ends at once can remove them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from strategy_core.private_tf.autograph_files import PREFIX, remove_generated_files

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
