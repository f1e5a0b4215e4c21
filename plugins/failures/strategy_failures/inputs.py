"""Errors of the data, and of what reads it."""

from __future__ import annotations

from strategy_profiles.analysis.failures import Known

INPUTS = (
    Known(
        "empty-batch",
        r"slice index 0 of dimension 0 out of bounds|Reduction axis 0 is empty in shape \[0|"
        r"Input to reshape is a tensor with 0 values",
        "{who} got no example: the batch had fewer examples than there are replicas, as the "
        "last batch of an epoch may",
        "Call batch() with drop_remainder=True, or choose a batch and a number of examples "
        "that divide by the number of replicas.",
    ),
    Known(
        "end-of-data",
        r"OutOfRangeError: End of sequence|"
        r"\A(?!.*/keras/src/).*tensorflow/python/.*\nStopIteration\s*\Z",
        "the data ended before the steps did",
        "Call repeat() on the dataset, or do no more steps than it has batches: `for batch in "
        "dataset` stops by itself.",
        is_of_traceback=True,
    ),
    Known(
        "no-batch",
        r"/keras/src/.*\nStopIteration\s*\Z",
        "the dataset has not a single batch",
        "Check that it has examples; with drop_remainder=True it needs at least one whole "
        "batch. A filter() or a shard() may have left none.",
        is_of_traceback=True,
    ),
    Known(
        "not-batched",
        r"in get_static_batch_dim\n.*IndexError",
        "a strategy was given a dataset without batches, which it cannot divide between replicas",
        "Call batch(GLOBAL_BATCH_SIZE) on the dataset before fit or "
        "experimental_distribute_dataset.",
        is_of_traceback=True,
    ),
    Known(
        "batch-not-divisible",
        r"`global_batch_size` \S+ is not divisible by `num_replicas_in_sync`",
        "the global batch does not divide by the number of replicas",
        "Choose a global batch that is a multiple of strategy.num_replicas_in_sync.",
    ),
    Known(
        "generator-type",
        r"`generator` yielded an element that could not be converted to the expected type",
        "the generator of the dataset yielded another type than it was declared with",
        "Give from_generator the output_signature that the generator has, or convert what it "
        "yields.",
    ),
    Known(
        "generator-shape",
        r"`generator` yielded an element of shape \S+ ?.* where an element of shape",
        "the generator of the dataset yielded another shape than it was declared with",
        "Give from_generator the output_signature that the generator has (None for a size "
        "that varies), or pad what it yields.",
    ),
    Known(
        "input-python",
        r"(?:UnknownError|InvalidArgumentError): (?!TypeError: `generator` yielded)\w+: .*"
        r"\nTraceback \(most recent call last\):.*\{\{node (?:PyFunc|EagerPyFunc)",
        "Python code that the dataset calls, a generator or a function of map(), raised an error",
        "Correct the generator or the function; the traceback inside of the message names its "
        "line. Dataset.ignore_errors() leaves out the examples that fail.",
    ),
    Known(
        "ragged-batch",
        r"Cannot add tensor to the batch: number of elements does not match",
        "examples of different shapes cannot become one batch",
        "Resize, crop or pad the examples in map() before batch(), or call padded_batch() instead.",
    ),
    Known(
        "no-file",
        r"NotFoundError: (?!.*restoring)\S.*; No such file or directory",
        "a file that TensorFlow was to read does not exist, at least not on this machine",
        "Check the path. Each worker reads the files by itself: put them where all of them "
        "can, at the same path.",
    ),
    Known(
        "broken-record",
        r"corrupted record at \d+|truncated record at \d+",
        "a file of the dataset is no TFRecord file, is cut off, or is compressed",
        "Write the file again. Give TFRecordDataset its compression_type if it is compressed.",
    ),
    Known(
        "example-feature",
        r"Feature: \S+ \(data type: \w+\) is required but could not be found|"
        r"Can't parse serialized Example",
        "an example of the dataset does not have the features that it is parsed with",
        "Give parse_single_example the names, types and shapes that were written, and a "
        "default_value for a feature that may be missing.",
    ),
    Known(
        "too-few-files",
        r"Could not apply FILE based sharding: the dataset only has \d+ file",
        "there are fewer files than workers, and each worker was to read files of its own",
        "Set options.experimental_distribute.auto_shard_policy to AutoShardPolicy.DATA, or "
        "write at least as many files as there are workers.",
    ),
    Known(
        "no-shardable-files",
        r"Found an unshardable source dataset",
        "each worker was to read files of its own, and the dataset does not begin with files",
        "Set options.experimental_distribute.auto_shard_policy to AutoShardPolicy.DATA, or to "
        "OFF if each worker already reads its own part.",
    ),
    Known(
        "arrays-differ",
        r"Data cardinality is ambiguous",
        "the arrays of inputs and targets have different numbers of examples",
        "Give fit arrays of the same length.",
    ),
    Known(
        "not-numbers",
        r"Invalid dtype: object|Cast string to \w+ is not supported|"
        r"Value for attr 'T' of string is not in the list of allowed values|"
        r"Failed to convert a NumPy array to a Tensor",
        "the model was given text, or rows of different lengths, where it needs numbers",
        "Convert the data to numbers of one shape first: StringLookup or TextVectorization "
        "for text, padding for rows. With a strategy do that in the dataset's map(): fit() "
        "averages the first batch over the replicas, even if the model itself takes text.",
    ),
    Known(
        "labels",
        r"label value of -?\d+ which is outside the valid range",
        "{who} got a label that is outside of the range of the model's classes",
        "Give the last layer as many units as there are classes, and number the labels from 0.",
    ),
    Known(
        "embedding-index",
        r"indices\[[\d,]*\] = -?\d+ is not in \[0, \d+\)",
        "{who} got an index that is outside of the table that it is looked up in",
        "Make the table larger (input_dim of Embedding), or check how the indices are made.",
    ),
)
