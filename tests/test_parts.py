"""Which cases of a long test `make test` keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.parts import spread


@given(num_cases=st.integers(1, 60), keep=st.integers(0, 60))
def test_as_many_cases_are_kept_as_asked_for(num_cases: int, keep: int) -> None:
    kept = spread(num_cases, keep)
    assert len(kept) == min(num_cases, keep)
    assert kept <= set(range(num_cases))


def test_the_first_and_the_last_case_are_kept() -> None:
    assert spread(24, 3) == {0, 12, 23}
