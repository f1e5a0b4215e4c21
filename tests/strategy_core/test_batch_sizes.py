from __future__ import annotations

from typing import Any

import pytest

from strategy_core.tracing.fit import BatchSizes


class Adapter:
    """A source of the batches as Keras has them, which counts what it is asked."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        self.num_asked = 0

    def __getattr__(self, name: str) -> Any:
        self.num_asked += 1
        return self._fields.get(name)


def partial_epoch(last_size: int | None) -> Adapter:
    return Adapter(
        batch_size=32, num_batches=4, has_partial_batch=True, partial_batch_size=last_size
    )


def test_an_adapter_is_asked_once_and_not_in_each_step() -> None:
    adapter = partial_epoch(7)
    sizes = BatchSizes(adapter)
    num_before = adapter.num_asked
    assert [sizes.examples(batch, 1) for batch in range(4)] == [32, 32, 32, 7]
    assert num_before == adapter.num_asked


def test_an_execution_that_ends_with_a_smaller_batch_counts_it_as_it_is() -> None:
    assert BatchSizes(partial_epoch(7)).examples(3, 2) == 39
    assert BatchSizes(partial_epoch(None)).examples(3, 2) is None


@pytest.mark.parametrize("adapter", [None, Adapter(), Adapter(num_batches=4)])
def test_a_size_that_the_data_does_not_tell_is_unknown(adapter: Any) -> None:
    sizes = BatchSizes(adapter)
    assert sizes.batch_size is None
    assert sizes.examples(0, 1) is None


def test_the_batches_of_a_dataset_are_not_counted_if_its_size_is_the_same_for_all() -> None:
    adapter = Adapter(batch_size=32)
    assert BatchSizes(adapter).examples(9, 2) == 64
    assert adapter.num_asked == 2
