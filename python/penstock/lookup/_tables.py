"""Tables that give a value for each key.

A table is a map of the engine, held by a variable of dtype `resource`: a trace refers to the table and not
to what is in it, operations on it keep the order of the program, and each is one step for all threads.

Keys are equal where their bits are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock import _core, raw_ops, strings
from penstock._control.flow import init_scope
from penstock._core import DType
from penstock._ops.arithmetic import equal
from penstock._ops.casts import cast
from penstock._ops.creation import zeros
from penstock._runtime import v1_graph_state
from penstock._runtime.arguments import integer
from penstock._runtime.conversion import constant, convert_to_tensor
from penstock._runtime.print import Assert
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock._values.variable import Variable
from penstock.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from penstock.lookup._initializers import KeyValueTensorInitializer, with_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

# The keys that a dense table never holds, as its arguments are called.
_UNUSED: Final = ("empty_key", "deleted_key")

_NOT_INITIALIZED: Final = (
    "Table not initialized. A layer that looks up needs its vocabulary first: as an argument, or by adapt()"
)

__all__ = [
    "DenseHashTable",
    "MutableHashTable",
    "StaticHashTable",
    "StaticVocabularyTable",
    "Table",
    "restored",
]


class Table:
    """What all tables have."""

    # Set by each kind.
    _key_dtype: DType
    _value_dtype: DType
    _name: str

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

    def _trackable_children(self) -> dict[str, Any]:
        return {}

    def _described(self, variable: Callable[[Any], int], node: Callable[[Any], int]) -> dict[str, Any]:
        """What is saved of it, with the numbers of variables and of tables that it owns."""
        raise NotImplementedError

    def _restore(self, saved: dict[str, Any], variables: list[Any], node: Callable[[int], Any]) -> None:
        """Become what `_described` gave."""
        raise NotImplementedError

    def _checked(self, keys: TensorLike) -> _core.Tensor:
        return _of_dtype(keys, self._key_dtype, "keys", "the table's keys")


def _of_dtype(value: TensorLike, dtype: DType, argument: str, what: str) -> _core.Tensor:
    """A tensor of a dtype, which values of Python take."""
    result = convert_to_tensor(value, dtype_hint=dtype)
    if result.dtype != dtype:
        raise DTypeError(
            f"argument '{argument}' must be of dtype {dtype.name}, {what}, got {result.dtype.name}"
        )
    return result


def _extents(value: _core.Tensor) -> list[int]:
    """The extents of a tensor that is known."""
    return [n for n in value.shape.as_list() if n is not None]


class _HashTable(Table):
    """A table whose keys and values the engine holds: each is a row of one shape."""

    _default: _core.Tensor
    _table: Variable
    _key_shape: TensorShape

    def _create(
        self, keys: _core.Tensor, values: _core.Tensor, default: _core.Tensor, name: str, key_rank: int = 0
    ) -> None:
        """Hold these keys and values, a row for each."""
        self._key_dtype, self._value_dtype, self._name = keys.dtype, values.dtype, name
        self._default, self._key_shape = default, keys.shape[1:]
        made = raw_ops.table_of(keys, values, key_rank=key_rank)
        self._hold(Variable(made, trainable=False, name=name))

    def _hold(self, variable: Variable) -> None:
        """Be the table that a variable holds, which a graph with the variable is written with."""
        self._table = variable
        variable.__dict__["_held_table"] = self

    def _handle(self) -> Variable:
        """The variable that holds the table, for an operation. A graph keeps what it is written with."""
        graph = v1_graph_state.current()
        if graph is not None and not any(held is self for held in graph.kept):
            graph.kept.append(self)
        return self._table

    @property
    def resource_handle(self) -> Variable:
        """The variable that holds the table."""
        return self._table

    @property
    def default_value(self) -> _core.Tensor:
        """The value of a key that is not there."""
        return self._default

    @property
    def _key_rank(self) -> int:
        return len(self._key_shape.as_list())

    def _found(self, keys: Any, default: _core.Tensor, each: bool, name: str | None) -> Any:
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self._found(keys.flat_values, default, each, name))
        if isinstance(keys, SparseTensor):
            return keys.with_values(self._found(keys.values, default, each, name))
        return raw_ops.table_find(
            self._handle().read_value(),
            self._checked(keys),
            default,
            key_rank=self._key_rank,
            each=each,
            name=name,
        )

    def lookup(self, keys: TensorLike | RaggedTensor | SparseTensor, name: str | None = None) -> Any:
        """Give the value of each key.

        Args:
            keys: the keys, in a tensor of any shape, a ragged or a sparse one.
            name: a name for the result in a graph.

        Returns:
            The values, in the shape of `keys` and that of a value; of those that are not there the default.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
        [2, -1]
        """
        return self._found(keys, self._default, False, name)

    def __getitem__(self, keys: TensorLike | RaggedTensor | SparseTensor) -> Any:
        """The value of each key, as `lookup` gives it."""
        return self._found(keys, self._default, False, None)

    def size(self, name: str | None = None) -> _core.Tensor:
        """Give the number of keys.

        Args:
            name: a name for the result in a graph.

        Returns:
            A scalar `int64`.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> int(table.size())
        2
        """
        return raw_ops.table_size(self._handle().read_value(), name=name)

    def export(self, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
        """Give all keys and their values.

        Args:
            name: a name for the results in a graph.

        Returns:
            The keys and their values, a row for each: in the order in which they came, but where a key is
            removed, the last takes its place.

        >>> import penstock as tf
        >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
        >>> [part.numpy().tolist() for part in table.export()]
        [[b'a', b'b'], [1, 2]]
        """
        return raw_ops.table_export(
            self._handle().read_value(),
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            key_shape=self._key_shape,
            value_shape=self._default.shape,
            name=name,
        )

    def _described(self, variable: Callable[[Any], int], node: Callable[[Any], int]) -> dict[str, Any]:
        default = Variable(self._default, trainable=False, name="default")
        return {
            "name": self._name,
            "variable": variable(self._table),
            "default": variable(default),
            "key_dtype": self._key_dtype.name,
            "key_shape": self._key_shape.as_list(),
        }

    def _restore(self, saved: dict[str, Any], variables: list[Any], node: Callable[[int], Any]) -> None:
        self._name = saved["name"]
        self._hold(variables[saved["variable"]])
        self._default = variables[saved["default"]].read_value()
        self._key_dtype, self._value_dtype = DType(saved["key_dtype"]), self._default.dtype
        self._key_shape = TensorShape(saved["key_shape"])


class StaticHashTable(_HashTable):
    """A table that does not change.

    >>> import penstock as tf
    >>> pairs = tf.lookup.KeyValueTensorInitializer(["emerson", "lake", "palmer"], [0, 1, 2])
    >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
    >>> table.lookup(tf.constant(["palmer", "king"])).numpy().tolist()
    [2, -1]
    """

    _is_initialized = True

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
        default = with_value(default_value, initializer.value_dtype, "default_value")
        with init_scope():
            nothing = (zeros([0], initializer.key_dtype), zeros([0], initializer.value_dtype))
            self._filled = nothing
            initializer.initialize(self)
            keys, values = filled = self.__dict__.pop("_filled")
            # An initializer may leave it to others to make the table: layers of Keras do before `adapt`.
            self._is_initialized = filled is not nothing
            self._create(keys, values, default, name or "table")

    def _found(self, keys: Any, default: _core.Tensor, each: bool, name: str | None) -> Any:
        if not self._is_initialized:
            if not _core._is_tracing():
                raise FailedPreconditionError(_NOT_INITIALIZED)
            # It is known when the graph runs: until then only shapes may be asked for.
            Assert(raw_ops.table_size(self._handle().read_value()) > 0, [_NOT_INITIALIZED])
        return super()._found(keys, default, each, name)

    def _fill(self, keys: _core.Tensor, values: _core.Tensor) -> None:
        self._filled = (keys, values)


class StaticVocabularyTable(Table):
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
            raise InvalidArgumentError(
                f"argument 'num_oov_buckets' must be at least 1, got {num_oov_buckets}"
            )
        if initializer is not None and initializer.value_dtype != _core.int64:
            raise DTypeError(
                f"argument 'initializer' must have values of int64, got {initializer.value_dtype.name}"
            )
        own = _core.string if initializer is None else initializer.key_dtype
        self._key_dtype, self._value_dtype = DType(lookup_key_dtype or own), _core.int64
        self._name = name or "table"
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        self._buckets = num_oov_buckets

    def lookup(self, keys: TensorLike | RaggedTensor | SparseTensor, name: str | None = None) -> Any:
        """Give the number of each key.

        Args:
            keys: the keys, in a tensor of any shape, a ragged or a sparse one.
            name: a name for the result in a graph.

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
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        wanted = self._checked(keys)
        texts = wanted if wanted.dtype == _core.string else strings.as_string(wanted)
        bucket = strings.to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return bucket
        known = cast(wanted, self._table.key_dtype) if wanted.dtype.is_integer else wanted
        return self._table._found(known, bucket + self._table.size(), True, name)

    __getitem__ = lookup

    @scoped
    def size(self, name: str | None = None) -> _core.Tensor:
        """Give how many numbers there are.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A scalar `int64`.

        >>> import penstock as tf
        >>> table = tf.lookup.StaticVocabularyTable(None, num_oov_buckets=3)
        >>> int(table.size())
        3
        """
        known = constant(0, _core.int64) if self._table is None else self._table.size()
        return known + self._buckets

    def _described(self, variable: Callable[[Any], int], node: Callable[[Any], int]) -> dict[str, Any]:
        return {
            "name": self._name,
            "key_dtype": self._key_dtype.name,
            "buckets": self._buckets,
            "table": None if self._table is None else node(self._table),
        }

    def _restore(self, saved: dict[str, Any], variables: list[Any], node: Callable[[int], Any]) -> None:
        self._name, self._buckets = saved["name"], saved["buckets"]
        self._key_dtype, self._value_dtype = DType(saved["key_dtype"]), _core.int64
        self._table = None if saved["table"] is None else node(saved["table"])


class MutableHashTable(_HashTable):
    """A table that changes.

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
        self._empty(DType(key_dtype), [], DType(value_dtype), default_value, name)

    def _empty(
        self, key_dtype: DType, key_extents: list[int], value_dtype: DType, default_value: Any, name: str
    ) -> None:
        default = with_value(default_value, value_dtype, "default_value")
        with init_scope():
            keys = zeros([0, *key_extents], key_dtype)
            values = zeros([0, *_extents(default)], value_dtype)
            self._create(keys, values, default, name, len(key_extents))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Put values in, also in the place of those that keys have; the last of one key counts.

        Args:
            keys: the keys.
            values: a value for each.
            name: a name for the operation in a graph.

        Raises:
            TypeError: for keys or values of another dtype.
            InvalidArgumentError: where there is not a value for each key.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> int(table.size())
        2
        """
        given = _of_dtype(values, self._value_dtype, "values", "the table's values")
        raw_ops.table_insert(self._handle(), self._checked(keys), given, key_rank=self._key_rank, name=name)

    insert_or_assign = insert

    def lookup(  # type: ignore[override]  # as in TensorFlow, `name` is the third
        self,
        keys: TensorLike | RaggedTensor | SparseTensor,
        dynamic_default_values: TensorLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Give the value of each key.

        Args:
            keys: the keys, in a tensor of any shape, a ragged or a sparse one.
            dynamic_default_values: what stands for keys that are not there, in the place of the default: a
                value, or one for each key.
            name: a name for the operation in a graph.

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
        if dynamic_default_values is None:
            return self._found(keys, self._default, False, name)
        default = _of_dtype(
            dynamic_default_values, self._value_dtype, "dynamic_default_values", "the table's values"
        )
        return self._found(keys, default, default.shape.rank != self._default.shape.rank, name)

    def remove(self, keys: TensorLike, name: str | None = None) -> None:
        """Take keys out; those that are not there are ignored.

        Args:
            keys: the keys.
            name: a name for the operation in a graph.

        Raises:
            TypeError: for keys of another dtype.

        >>> import penstock as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)
        >>> table.insert([3, 5], [30, 50])
        >>> table.remove([5])
        >>> int(table.size())
        1
        """
        raw_ops.table_remove(self._handle(), self._checked(keys), key_rank=self._key_rank, name=name)

    erase = remove

    # What a checkpoint calls its state, and how the keys of its tensors end, as in TensorFlow.
    _checkpoint_part = ("table", ("-keys", "-values"))

    def _save_state(self) -> tuple[_core.Tensor, _core.Tensor]:
        return self.export()

    def _restore_state(self, keys: _core.Tensor, values: _core.Tensor) -> None:
        extents = self._key_shape.as_list()
        rows = raw_ops.reshape(keys, [-1, *extents])
        of = raw_ops.reshape(values, [-1, *self._default.shape.as_list()])
        self.remove(self.export()[0])
        self.insert(rows, of)


class DenseHashTable(MutableHashTable):
    """A table that changes, whose keys may be vectors or larger.

    Two keys are never in it, which say what shape a key has: an operation with one of them is refused.

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

        Raises:
            ValueError: where the two keys are equal, or of different shapes.
        """
        dtype = DType(key_dtype)
        with init_scope():
            empty = convert_to_tensor(empty_key, dtype=dtype)
            deleted = convert_to_tensor(deleted_key, dtype=dtype)
        if empty.shape != deleted.shape:
            raise InvalidArgumentError(
                f"argument 'deleted_key' must be of shape {empty.shape}, as 'empty_key', got {deleted.shape}"
            )
        with init_scope():
            alike = bool(raw_ops.reduce_all(equal(empty, deleted)))
        if alike:
            raise InvalidArgumentError("arguments 'empty_key' and 'deleted_key' must differ")
        self._empty(dtype, _extents(empty), DType(value_dtype), default_value, name)
        with init_scope():
            self._unused = constant([empty.numpy(), deleted.numpy()], dtype)

    def _checked(self, keys: TensorLike) -> _core.Tensor:
        given = super()._checked(keys)
        rank = self._key_rank
        rows = raw_ops.reshape(given, [-1, 1, *self._key_shape.as_list()])
        same = equal(rows, self._unused)
        if rank:
            same = raw_ops.reduce_all(same, axes=list(range(2, rank + 2)))
        for met, kind in zip(raw_ops.unstack(raw_ops.reduce_any(same, axes=[0])), _UNUSED, strict=True):
            Assert(raw_ops.logical_not(met), [f"Using the {kind} as a table key is not allowed"])
        return given

    def _restore_state(self, keys: _core.Tensor, values: _core.Tensor) -> None:
        """Take what is in use: TensorFlow writes all of its buckets, the others with one of the two keys."""
        extents = self._key_shape.as_list()
        rows = raw_ops.reshape(keys, [-1, *extents])
        of = raw_ops.reshape(values, [-1, *self._default.shape.as_list()])
        table, rank = self._handle(), self._key_rank
        raw_ops.table_remove(table, self.export()[0], key_rank=rank)
        raw_ops.table_insert(table, rows, of, key_rank=rank)
        raw_ops.table_remove(table, self._unused, key_rank=rank)

    def _described(self, variable: Callable[[Any], int], node: Callable[[Any], int]) -> dict[str, Any]:
        unused = Variable(self._unused, trainable=False, name="unused")
        return {**super()._described(variable, node), "unused": variable(unused)}

    def _restore(self, saved: dict[str, Any], variables: list[Any], node: Callable[[int], Any]) -> None:
        super()._restore(saved, variables, node)
        self._unused = variables[saved["unused"]].read_value()


_KINDS: dict[str, type[Table]] = {
    cls.__name__: cls for cls in (StaticHashTable, StaticVocabularyTable, MutableHashTable, DenseHashTable)
}


def restored(saved: dict[str, Any], variables: list[Any], node: Callable[[int], Any]) -> Any:
    """The table of what `_described` gave; its class is one of these.

    Args:
        saved: the description, with the name of the class as `type`.
        variables: the variables by their numbers.
        node: gives the object of a number.
    """
    table = object.__new__(_KINDS[saved["type"]])
    table._restore(saved, variables, node)
    return table
