"""Names of TensorFlow's ops."""

from __future__ import annotations

import pytest

from strategy_profiles.run.tensorflow_names import type_as_written


@pytest.mark.parametrize(
    ("op", "written"),
    [
        ("_MklMatMul", "MatMul"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("_FusedConv2D", "Conv2D"),
        ("_MklNativeConv2DBackpropInput", "Conv2DBackpropInput"),
        ("FusedBatchNormV3", "FusedBatchNormV3"),
        ("_Recv", "_Recv"),
        ("MatMul", "MatMul"),
    ],
)
def test_the_type_of_an_op_as_a_program_has_it(op: str, written: str) -> None:
    assert type_as_written(op) == written
