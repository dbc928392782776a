"""Data sets of `tf.train.Example` messages, parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.data._csv import files_of, ordered
from penstock.data._dataset import Dataset
from penstock.data._files import TFRecordDataset
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, PathLike

__all__ = ["make_batched_features_dataset", "parse_example_dataset"]


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: IntLike = 1, deterministic: bool | None = None
) -> Callable[[Dataset[Any]], Dataset[Any]]:
    """Read the features of batches of `tf.train.Example` messages.

    Args:
        features: what each feature becomes, by its name, as `tf.io.parse_example` has them.
        num_parallel_calls: how many batches are parsed at once.
        deterministic: whether they come in order.

    Returns:
        A function for `Dataset.apply`, for data sets of vectors of messages.

    Raises:
        ValueError: for no features.

    >>> import penstock as tf
    >>> age = tf.train.Feature(int64_list=tf.train.Int64List(value=[42]))
    >>> content = tf.train.Example(features=tf.train.Features(feature={"age": age})).SerializeToString()
    >>> parse = tf.data.experimental.parse_example_dataset({"age": tf.io.FixedLenFeature([], tf.int64)})
    >>> ds = tf.data.Dataset.from_tensors([content, content]).apply(parse)
    >>> next(iter(ds))["age"].numpy().tolist()
    [42, 42]
    """
    # Parsing is of `tf.io`, which is no part of what data sets are made of.
    from penstock.io import parse_example

    if not features:
        raise InvalidArgumentError("argument 'features' must have at least one feature")
    wanted = dict(features)

    def parsed(dataset: Dataset[Any]) -> Dataset[Any]:
        return dataset.map(
            lambda messages: parse_example(messages, wanted),
            num_parallel_calls=None if num_parallel_calls == 1 else num_parallel_calls,
            deterministic=deterministic,
        )

    return parsed


def make_batched_features_dataset(
    file_pattern: PathLike | Sequence[PathLike],
    batch_size: IntLike,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset[Any]] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    reader_num_threads: IntLike | None = None,
    parser_num_threads: IntLike | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset[Any]:
    """Read files of `tf.train.Example` messages as batches of features.

    Args:
        file_pattern: a name or a pattern of names, or several.
        batch_size: how many messages are a batch.
        features: what each feature becomes, by its name, as `tf.io.parse_example` has them.
        reader: makes the data set of messages of a file, `TFRecordDataset` by default.
        label_key: a feature that is an element of its own, beside the others.
        reader_args: further arguments of `reader`.
        num_epochs: how often files are read; without end by default.
        shuffle: whether messages come in a random order.
        shuffle_buffer_size: how many messages are drawn from.
        shuffle_seed: an integer that fixes the orders.
        prefetch_buffer_size: how many batches a thread computes ahead, one by default.
        reader_num_threads: how many files are read in turn, one by default.
        parser_num_threads: how many batches are parsed at once, two by default.
        sloppy_ordering: whether batches come as they are ready.
        drop_final_batch: whether a last batch that is not full is left out.

    Returns:
        A data set of dicts of features; with `label_key` of pairs of one and the label.

    Raises:
        ValueError: for no files, and a `label_key` that is no feature.
        InvalidArgumentError: when it runs, for messages that do not fit.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> age = tf.train.Feature(int64_list=tf.train.Int64List(value=[42]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"age": age}))
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(example.SerializeToString())
    >>> ds = tf.data.experimental.make_batched_features_dataset(
    ...     path, 2, {"age": tf.io.FixedLenFeature([], tf.int64)}, num_epochs=1)
    >>> next(iter(ds))["age"].numpy().tolist()
    [42]
    """
    if not isinstance(features, Mapping):
        raise TypeError(f"argument 'features' must be a dict, got {features!r}")
    if label_key is not None and label_key not in features:
        raise InvalidArgumentError(
            f"argument 'label_key': {label_key!r} is none of the features {sorted(features)}"
        )
    paths, arguments = files_of(file_pattern), list(reader_args or ())
    make = TFRecordDataset if reader is None else reader

    def read(name: Any) -> Dataset[Any]:
        return make(name, *arguments)

    if len(paths) == 1:
        dataset = read(paths)
    else:
        files = Dataset.from_tensor_slices(paths)
        if shuffle:
            files = files.shuffle(len(paths), shuffle_seed)
        dataset = files.interleave(read, cycle_length=reader_num_threads or 1)
    dataset = ordered(dataset, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    threads = 2 if parser_num_threads is None else parser_num_threads
    dataset = dataset.apply(parse_example_dataset(features, threads, not sloppy_ordering))

    if label_key is not None:
        dataset = dataset.map(lambda found: (found, found.pop(label_key)))
    return dataset.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)
