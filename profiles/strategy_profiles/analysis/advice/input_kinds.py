"""The stages of an input pipeline that a program knows by name, and what to do about each."""

from __future__ import annotations

from msgspec import Struct

from strategy_profiles.run.event_parts import SHUFFLE

_WHOLE_BATCHES = (
    "If it is made of ops that take whole batches, call batch() before map(): they then run once "
    "for a batch, not for each example."
)
_OF_MAP = (
    "Call map() with num_parallel_calls=tf.data.AUTOTUNE, and do less in its function, or cache() "
    f"its output if it is the same in each epoch. {_WHOLE_BATCHES}"
)
_SEVERAL_FILES = (
    "Read several files at once, interleave() with num_parallel_calls=tf.data.AUTOTUNE, and keep "
    "what was read by cache()."
)


class InputKind(Struct, frozen=True):
    """What is known of a kind of stage."""

    name: str
    """What it is in a program."""
    advice: str
    texts: tuple[str, ...] = ()
    """What the line of the program that makes it says."""
    makes_elements: bool = False
    """Whether it makes what later stages only pass on: it fills the buffer of a shuffle()."""


KINDS = {
    "Generator": InputKind(
        "the Python generator (from_generator, PyDataset)",
        "It makes one element at a time under Python's GIL, so prefetch cannot speed it up. Do "
        "less in it, yield whole batches instead of single examples, interleave several "
        "generators (workers of a PyDataset), or replace it with tf.data operations.",
        ("from_generator(",),
        makes_elements=True,
    ),
    "Map": InputKind("the function of map()", _OF_MAP, (".map(",), makes_elements=True),
    "MapAndBatch": InputKind("the function of map(), with batch()", _OF_MAP, (".map(",)),
    "ParallelMap": InputKind(
        "the function of map()",
        "Do less in its function, or cache() its output if it is the same in each epoch. "
        f"{_WHOLE_BATCHES}",
        (".map(",),
        makes_elements=True,
    ),
    "FlatMap": InputKind(
        "the datasets that flat_map() makes",
        "flat_map() makes and runs a dataset for each element: make whole batches by one op "
        "instead, or cache() what comes of it. Windows are rows of the array by their first ones: "
        "behind batch(), .map(lambda first: tf.gather(array, first[:, None] + tf.range(length))).",
        (".flat_map(",),
        makes_elements=True,
    ),
    "Shuffle": InputKind("shuffle()", "Use a smaller buffer.", (SHUFFLE,)),
    "Batch": InputKind(
        "batch()", "Call batch() with num_parallel_calls=tf.data.AUTOTUNE.", (".batch(",)
    ),
    "PaddedBatch": InputKind(
        "padded_batch()",
        "Pad less: let examples of like length be in one batch (bucket_by_sequence_length()), or "
        "cut the longest ones.",
        (".padded_batch(",),
    ),
    "TFRecord": InputKind(
        "reading TFRecord files", _SEVERAL_FILES, ("TFRecordDataset",), makes_elements=True
    ),
    "FixedLengthRecord": InputKind(
        "reading files of records", _SEVERAL_FILES, ("FixedLengthRecordDataset",), True
    ),
    "TextLine": InputKind(
        "reading lines of text",
        f"Call batch() before the map() that parses lines: tf.io.decode_csv() takes many. "
        f"{_SEVERAL_FILES}",
        ("TextLineDataset",),
        makes_elements=True,
    ),
    "CSV": InputKind(
        "reading CSV files",
        f"It parses one row after the other: read the columns once with pandas or NumPy where "
        f"they fit into memory. {_SEVERAL_FILES}",
        ("CsvDataset(", "make_csv_dataset("),
        makes_elements=True,
    ),
    "Interleave": InputKind(
        "the datasets that interleave() reads",
        "Call interleave() with num_parallel_calls=tf.data.AUTOTUNE and a cycle_length of several "
        "files: it reads one after the other without.",
        (".interleave(",),
        makes_elements=True,
    ),
    "ParallelInterleave": InputKind(
        "the datasets that interleave() reads",
        "Give interleave() a longer cycle_length and block_length, and let each of its datasets "
        "do less for an element, or hand out whole batches.",
        (".interleave(",),
        makes_elements=True,
    ),
    "Filter": InputKind(
        "the function of filter()",
        "filter() asks for one element after the other, and throws away what the stages before it "
        "have made. Choose the rows of arrays with NumPy (`x[y == c]`) before the dataset is made "
        "of them; choose files by their names; or keep what is left by cache(), which gains from "
        "the second pass on.",
        (".filter(",),
        makes_elements=True,
    ),
    "Scan": InputKind(
        "the function of scan()",
        "scan() makes one element after the other: let it do only what needs the element before, "
        "and the rest in a map() with num_parallel_calls=tf.data.AUTOTUNE.",
        (".scan(",),
        makes_elements=True,
    ),
    "Unbatch": InputKind(
        "unbatch()",
        "It copies out one example after the other: keep the batches as they are made, and "
        "shuffle before them, or call batch() on file names or indices.",
        (".unbatch(",),
        makes_elements=True,
    ),
    "TensorSlice": InputKind(
        "from_tensor_slices()",
        "It copies out one row after the other: take the rows of a batch at once, by a dataset of "
        "shuffled indices with batch() and a map() of tf.gather.",
        ("from_tensor_slices(",),
        makes_elements=True,
    ),
    "DirectedInterleave": InputKind(
        "sample_from_datasets() or choose_from_datasets()",
        "It takes one element after the other: call batch() on the datasets before it, and take "
        "batches, or mix their indices.",
        ("sample_from_datasets(", "choose_from_datasets("),
        makes_elements=True,
    ),
    "RejectionResample": InputKind(
        "rejection_resample()",
        "It makes examples of frequent classes, and throws most of them away. Make a dataset of "
        "each class, of rows that NumPy chooses (`x[y == c]`), with shuffle(), repeat() and "
        "batch(), and zip() them or mix them by sample_from_datasets().",
        ("rejection_resample(",),
        makes_elements=True,
    ),
    "Directory": InputKind(
        "decoding the files of a directory",
        "It decodes each file again in each epoch: call cache() on the dataset, and prefetch() "
        "behind it, where what it makes fits into memory. Otherwise store files of the size that "
        "the model reads.",
        ("_dataset_from_directory(",),
        makes_elements=True,
    ),
    "GroupByWindow": InputKind(
        "bucket_by_sequence_length() or group_by_window()",
        "Its functions run for each element: let the one that gives the key only read a length "
        "that is there already, and use fewer buckets and smaller windows.",
        ("bucket_by_sequence_length(", "group_by_window("),
    ),
}
"""By tf.data's name of the stage, without its version."""
