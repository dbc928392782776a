"""Tables that give a value for each key.

A table of constants is two vectors, the keys in order: a lookup is a binary search. A table that changes is
two variables: its operations find what keys have in common by hashing all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops, strings
from penstock._control.flow import init_scope
from penstock._core import DType
from penstock._ops.arithmetic import equal
from penstock._ops.casts import cast
from penstock._ops.creation import fill, range as range_, zeros
from penstock._ops.elementwise import minimum
from penstock._ops.indexing import boolean_mask, gather, where
from penstock._ops.segments import unsorted_segment_max
from penstock._ops.shapes import concat, expand_dims, identity, reshape, shape, size
from penstock._ops.sorting import unique
from penstock._runtime.arguments import integer, results
from penstock._runtime.conversion import constant, convert_to_tensor
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.ragged import RaggedTensor
from penstock._values.variable import Variable
from penstock.errors import FailedPreconditionError, InvalidArgumentError
from penstock.lookup._initializers import KeyValueTensorInitializer

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

__all__ = ["DenseHashTable", "MutableHashTable", "StaticHashTable", "StaticVocabularyTable"]


class _Table:
    """What all tables have."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: Any, name: str | None):
        self._key_dtype, self._value_dtype = DType(key_dtype), DType(value_dtype)
        with init_scope():
            self._default = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._name = name or "table"

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def _checked(self, keys: TensorLike, argument: str = "keys") -> _core.Tensor:
        result = convert_to_tensor(keys, dtype_hint=self._key_dtype)
        if result.dtype != self._key_dtype:
            raise TypeError(
                f"argument '{argument}' must be of dtype {self._key_dtype.name}, the table's keys, "
                f"got {result.dtype.name}"
            )
        return result


class StaticHashTable(_Table):
    """A table that does not change.

    >>> import penstock as tf
    >>> pairs = tf.lookup.KeyValueTensorInitializer(["emerson", "lake", "palmer"], [0, 1, 2])
    >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
    >>> table.lookup(tf.constant(["palmer", "king"])).numpy().tolist()
    [2, -1]
    """

    def __init__(
        self,
        initializer: KeyValueTensorInitializer,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Fill the table.

        Args:
            initializer: the keys and values.
            default_value: the value of a key that is not there.
            name: a name of the table.
            experimental_is_anonymous: accepted and ignored.

        Raises:
            FailedPreconditionError: where a key has two values.
        """
        expect(initializer, KeyValueTensorInitializer, "initializer", "an initializer of tables")
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, name)
        with init_scope():
            self._keys = zeros([0], self._key_dtype)
            self._values = zeros([0], self._value_dtype)
            initializer.initialize(self)

    @property
    def default_value(self) -> _core.Tensor:
        """The value of a key that is not there."""
        return self._default

    def _fill(self, keys: _core.Tensor, values: _core.Tensor) -> None:
        rows = sorted(enumerate(keys.numpy().tolist()), key=lambda pair: pair[1])
        of = values.numpy().tolist()
        kept = []
        for place, (row, key) in enumerate(rows):
            if place == 0 or key != rows[place - 1][1]:
                kept.append(row)
            elif of[row] != of[kept[-1]]:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"argument 'initializer' has two values of key {key!r}: {of[kept[-1]]!r} and {of[row]!r}",
                )
        chosen = constant(kept, _core.int64, [len(kept)])
        self._keys, self._values = gather(keys, chosen), gather(values, chosen)

    def lookup(self, keys: TensorLike | RaggedTensor, name: str | None = None) -> Any:
        """Give the value of each key.

        Args:
            keys: the keys, in a tensor of any shape or a ragged one.
            name: a name for the result in a graph.

        Returns:
            The values, in the shape of `keys`; of those that are not there the default.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
        [2, -1]
        """
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        wanted = self._checked(keys)
        if self._keys.shape[0] == 0:
            return fill(shape(wanted), self._default)
        flat = raw_ops.reshape(wanted, [-1])
        place = raw_ops.searchsorted(self._keys, flat, dtype=_core.int64)
        place = raw_ops.minimum(place, size(self._keys, _core.int64) - 1)
        there = equal(raw_ops.gather(self._keys, place), flat)
        found = where(there, raw_ops.gather(self._values, place), self._default)
        result = raw_ops.reshape(found, raw_ops.shape(wanted))
        result.set_shape(wanted.shape)
        return result

    __getitem__ = lookup

    def size(self, name: str | None = None) -> _core.Tensor:
        """Give the number of keys.

        Args:
            name: accepted and ignored.

        Returns:
            A scalar `int64`.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> int(table.size())
        2
        """
        return size(self._keys, _core.int64)

    def export(self, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
        """Give all keys and their values.

        Args:
            name: accepted and ignored.

        Returns:
            The keys in ascending order, and the values.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> [part.numpy().tolist() for part in table.export()]
        [[b'a', b'b'], [1, 2]]
        """
        return self._keys, self._values


class StaticVocabularyTable(_Table):
    """A table of numbers whose other keys get one of some further numbers, by their hash.

    >>> import penstock as tf
    >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    >>> table = tf.lookup.StaticVocabularyTable(pairs, num_oov_buckets=1)
    >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
    [1, 2]
    """

    def __init__(
        self,
        initializer: KeyValueTensorInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Fill the table.

        Args:
            initializer: the keys, strings or `int64`, and their numbers, `int64` from 0; None for none.
            num_oov_buckets: how many numbers there are for other keys.
            lookup_key_dtype: the dtype of the keys; by default that of `initializer`.
            name: a name of the table.
            experimental_is_anonymous: accepted and ignored.

        Raises:
            ValueError: where `num_oov_buckets` is below 1.
            TypeError: where the numbers are not `int64`.
        """
        num_oov_buckets = integer(num_oov_buckets, "num_oov_buckets")
        if initializer is not None:
            expect(initializer, KeyValueTensorInitializer, "initializer", "an initializer of tables or None")
        if num_oov_buckets < 1:
            raise ValueError(f"argument 'num_oov_buckets' must be at least 1, got {num_oov_buckets}")
        if initializer is not None and initializer.value_dtype != _core.int64:
            raise TypeError(
                f"argument 'initializer' must have values of int64, got {initializer.value_dtype.name}"
            )
        own = _core.string if initializer is None else initializer.key_dtype
        super().__init__(lookup_key_dtype or own, _core.int64, -1, name)
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        self._buckets = num_oov_buckets

    def lookup(self, keys: TensorLike | RaggedTensor, name: str | None = None) -> Any:
        """Give the number of each key.

        Args:
            keys: the keys, in a tensor of any shape or a ragged one.
            name: accepted and ignored.

        Returns:
            The numbers, `int64`, in the shape of `keys`.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> table = tf.lookup.StaticVocabularyTable(None, num_oov_buckets=3)
        >>> table.lookup(tf.constant(["a", "b"])).shape.as_list()
        [2]
        """
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        wanted = self._checked(keys)
        texts = wanted if wanted.dtype == _core.string else strings.as_string(wanted)
        bucket = strings.to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return bucket
        found = self._table.lookup(cast(wanted, self._table.key_dtype) if wanted.dtype.is_integer else wanted)
        return where(found < 0, bucket + self._table.size(), found)

    __getitem__ = lookup

    def size(self, name: str | None = None) -> _core.Tensor:
        """Give how many numbers there are.

        Args:
            name: accepted and ignored.

        Returns:
            A scalar `int64`.

        >>> import penstock as tf
        >>> table = tf.lookup.StaticVocabularyTable(None, num_oov_buckets=3)
        >>> int(table.size())
        3
        """
        known = constant(0, _core.int64) if self._table is None else self._table.size()
        return known + self._buckets


class MutableHashTable(_Table):
    """A table that changes. Each operation goes over all of its keys.

    >>> import penstock as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
    >>> table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
    [2, -1]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make an empty table.

        Args:
            key_dtype: the dtype of the keys.
            value_dtype: the dtype of the values.
            default_value: the value of a key that is not there; its shape is that of all values.
            name: a name of the table.
            checkpoint: accepted and ignored.
            experimental_is_anonymous: accepted and ignored.
        """
        super().__init__(key_dtype, value_dtype, default_value, name)
        # Of one value.
        self._extents = list(self._default.numpy().shape)
        with init_scope():
            self._keys = Variable(zeros([0], self._key_dtype), trainable=False, shape=TensorShape([None]))
            self._values = Variable(
                zeros([0, *self._extents], self._value_dtype),
                trainable=False,
                shape=TensorShape([None, *self._extents]),
            )

    def _values_of(self, values: TensorLike) -> _core.Tensor:
        result = convert_to_tensor(values, dtype_hint=self._value_dtype)
        if result.dtype != self._value_dtype:
            raise TypeError(
                f"argument 'values' must be of dtype {self._value_dtype.name}, the table's values, "
                f"got {result.dtype.name}"
            )
        return reshape(result, [-1, *self._extents])

    def _union(self, first: _core.Tensor, second: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
        """The distinct keys of both, those of the first in front, and the place of each key among them."""
        distinct, place, _ = results(raw_ops.unique(concat([first, second], 0), dtype=_core.int64))
        return distinct, place

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Put values in, also in the place of those that keys have; the last of one key counts.

        Args:
            keys: the keys.
            values: a value for each.
            name: accepted and ignored.

        Raises:
            TypeError: for keys or values of another dtype.
            InvalidArgumentError: where there is not a value for each key.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> int(table.size())
        2
        """
        wanted = self._checked(keys)
        due = wanted.shape.concatenate(self._extents)
        given = convert_to_tensor(values, dtype_hint=self._value_dtype)
        if not given.shape.is_compatible_with(due):
            raise InvalidArgumentError(
                None,
                None,
                f"argument 'values' must be a value for each key, of shape {due}, got {given.shape}",
            )
        added = raw_ops.reshape(wanted, [-1])
        given = concat([self._values, self._values_of(given)], 0)
        distinct, place = self._union(convert_to_tensor(self._keys), added)
        last = unsorted_segment_max(range_(size(place, _core.int64)), place, size(distinct, _core.int64))
        # Both are read before either is written.
        kept = gather(given, last)
        self._keys.assign(distinct)
        self._values.assign(kept)

    insert_or_assign = insert

    def lookup(
        self, keys: TensorLike, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> _core.Tensor:
        """Give the value of each key.

        Args:
            keys: the keys, in a tensor of any shape.
            dynamic_default_values: the values of keys that are not there, for each key, in the place of the
                default.
            name: accepted and ignored.

        Returns:
            The values, in the shape of `keys` and that of a value.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> table.lookup([5, 7]).numpy().tolist()
        [50, -1]
        """
        wanted = self._checked(keys)
        count = size(self._keys, _core.int64)
        _, place = self._union(convert_to_tensor(self._keys), raw_ops.reshape(wanted, [-1]))
        place = minimum(place[count:], count)
        values = concat([self._values, expand_dims(self._default, 0)], 0)
        found = gather(values, place)
        if dynamic_default_values is not None:
            there = reshape(place < count, [-1, *[1] * len(self._extents)])
            found = where(there, found, self._values_of(dynamic_default_values))
        return reshape(
            found, concat([shape(wanted), constant(self._extents, _core.int32, [len(self._extents)])], 0)
        )

    __getitem__ = lookup

    def remove(self, keys: TensorLike, name: str | None = None) -> None:
        """Take keys out; those that are not there are ignored.

        Args:
            keys: the keys.
            name: accepted and ignored.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> table.remove([5])
        >>> int(table.size())
        1
        """
        unwanted = raw_ops.reshape(self._checked(keys), [-1])
        count = size(unique(unwanted)[0], _core.int64)
        _, place = self._union(unwanted, convert_to_tensor(self._keys))
        stays = place[size(unwanted, _core.int64) :] >= count
        keys_left, values_left = boolean_mask(self._keys, stays), boolean_mask(self._values, stays)
        self._keys.assign(keys_left)
        self._values.assign(values_left)

    erase = remove

    def size(self, name: str | None = None) -> _core.Tensor:
        """Give the number of keys.

        Args:
            name: accepted and ignored.

        Returns:
            A scalar `int64`.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> int(table.size())
        2
        """
        return size(self._keys, _core.int64)

    def export(self, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
        """Give all keys and their values.

        Args:
            name: accepted and ignored.

        Returns:
            The keys in the order in which they came, and the values.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> [part.numpy().tolist() for part in table.export()]
        [[3, 5], [30, 50]]
        """
        return identity(self._keys), identity(self._values)


class DenseHashTable(MutableHashTable):
    """A table that changes, and has two keys that it does not take.

    >>> import penstock as tf
    >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2)
    >>> table.insert(tf.constant([5], tf.int64), tf.constant([7], tf.int64))
    >>> table.lookup(tf.constant([5, 6], tf.int64)).numpy().tolist()
    [7, -1]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: IntLike | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make an empty table.

        Args:
            key_dtype: the dtype of the keys.
            value_dtype: the dtype of the values.
            default_value: the value of a key that is not there.
            empty_key: a key that is never inserted.
            deleted_key: another one.
            initial_num_buckets: accepted and ignored.
            name: a name of the table.
            checkpoint: accepted and ignored.
            experimental_is_anonymous: accepted and ignored.
        """
        super().__init__(key_dtype, value_dtype, default_value, name)
