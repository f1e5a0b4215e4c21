"""Messages of the programs in a profile, declared here so that reading them needs no TensorFlow.

Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto.
"""

from __future__ import annotations

from strategy_profiles.capture.xplane_message import classes_of

hlo_class = classes_of(
    {
        "HloInstructionProto": [
            ("name", 1, "bytes"),
            ("opcode", 2, "bytes"),
            ("shape", 3, "ShapeProto"),
            ("metadata", 7, "OpMetadata"),
            ("id", 35, "int64"),
            ("operand_ids", 36, "*int64"),
            ("called_computation_ids", 38, "*int64"),
        ],
        "OpMetadata": [
            ("op_name", 2, "bytes"),
            ("source_file", 3, "bytes"),
            ("source_line", 4, "int64"),
            ("stack_frame_id", 15, "int64"),
        ],
        "ShapeProto": [
            ("element_type", 2, "int64"),
            ("dimensions", 3, "*int64"),
            ("tuple_shapes", 4, "*ShapeProto"),
        ],
        "StackFrameIndexProto": [
            ("file_names", 1, "*bytes"),
            ("file_locations", 3, "*FileLocation"),
            ("stack_frames", 4, "*StackFrame"),
        ],
        "FileLocation": [("file_name_id", 1, "int64"), ("line", 3, "int64")],
        "StackFrame": [("file_location_id", 1, "int64")],
    }
)
