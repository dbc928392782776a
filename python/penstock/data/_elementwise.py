"""Stages that pass elements on one by one: their kinds, and what the arguments of their methods must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import _core, nest
from penstock._types.argument_names import path_of
from penstock._types.specs import TensorSpec
from penstock.data import _saved, _stages, _windows
from penstock.data._arguments import integer
from penstock.data._functions import Traced, traced, traced_with_state, unpacked
from penstock.data._node import INFINITE, UNKNOWN, Kind, Node, Stage
from penstock.data._shuffling import buffer, shuffled
from penstock.data._sources import Seeds, elements
from penstock.data._specs import DatasetSpec
from penstock.data._structure import Structure, converted, spec_of
from penstock.data._threads import AUTOTUNE, workers
from penstock.errors import (
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
)

__all__ = [
    "AT",
    "COUNTED",
    "OPTIONS",
    "cache",
    "enumerate",
    "filter",
    "flat_map",
    "ignore_errors",
    "interleave",
    "map",
    "prefetch",
    "rejection_resample",
    "repeat",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "snapshot",
    "take",
    "take_while",
    "to_shards",
    "unique",
]

Reading = Callable[[str, Structure], Any]


def _as_many(n: int, *_: Any) -> int:
    return n


def _filtered(n: int, *_: Any) -> int:
    return 0 if n == 0 else UNKNOWN


def _taken(n: int, count: int) -> int:
    if count < 0 or n == UNKNOWN:
        return n
    return count if n == INFINITE else min(n, count)


def _skipped(n: int, count: int) -> int:
    if n == INFINITE:
        return 0 if count < 0 else INFINITE
    if n == UNKNOWN:
        return 0 if count < 0 else UNKNOWN
    return 0 if count < 0 else max(0, n - count)


def _repeated(n: int, count: int) -> int:
    if count == 0 or n == 0:
        return 0
    if n == INFINITE or (count < 0 and n > 0):
        return INFINITE
    return UNKNOWN if n == UNKNOWN or count < 0 else n * count


def _sharded(n: int, shards: int, index: int) -> int:
    return n if n < 0 else max(0, (n - index + shards - 1) // shards)


MAP = Kind("Map", _stages.mapped, _as_many)
FILTER = Kind("Filter", _stages.filtered, _filtered)
TAKE_WHILE = Kind("TakeWhile", _stages.take_while, _filtered)
TAKE = Kind("Take", _stages.take, _taken)
SKIP = Kind("Skip", _stages.skip, _skipped)
REPEAT = Kind("Repeat", _stages.repeat, _repeated)
SHUFFLE = Kind("Shuffle", shuffled, _as_many)
PREFETCH = Kind("Prefetch", _stages.prefetched, _as_many)
OPTIONS = Kind("Options", _stages.passed, _as_many)
CACHE = Kind("Cache", _stages.cached, _as_many)
KEPT = Kind("Snapshot", _saved.kept, _as_many)
ENUMERATE = Kind("Enumerate", _stages.numbered, _as_many)
SHARD = Kind("Shard", _stages.sharded, _sharded)
UNIQUE = Kind("Unique", _stages.unique, _filtered)
SCAN = Kind("Scan", _stages.scanned, _as_many)
IGNORE_ERRORS = Kind("IgnoreErrors", _stages.without_errors, _filtered)
COUNTED = Kind("AssertCardinality", _stages.counted, lambda n, expected: expected)
FLAT_MAP = Kind("FlatMap", _windows.flat_mapped, _filtered)
INTERLEAVE = Kind("Interleave", _stages.interleaved, _filtered)

RESAMPLE = Kind("RejectionResample", _stages.resampled, _filtered)


def _element(source: Any, index: Any) -> Any:
    """The element of a number alone; those before it are computed only where they must be."""
    kind, args, number = source._kind, source._args, int(index)
    if kind is MAP:
        leaves = _element(source._inputs[0], number)(1)
        return elements([args[0](leaves.at(0))])
    if kind in (PREFETCH, OPTIONS):
        return _element(source._inputs[0], number)
    if kind is SHUFFLE:
        size, seed, seeds = args
        return _stages.skip_in(shuffled(source._inputs[0], size, seed, seeds.still(seed)), number)
    return _stages.skip(source, number)


def _at(source: Any, index: Any) -> Any:
    size, number = source._size(), int(index)
    if size == INFINITE:
        raise FailedPreconditionError("at: argument 'dataset' has elements without end")
    if size == UNKNOWN:
        raise UnimplementedError(
            "at: Random access is not implemented where the number of elements is unknown"
        )
    if not 0 <= number < size:
        raise OutOfRangeError(f"at: argument 'index': Index out of range [0, {size}):{number}")
    pull = _element(source, number)
    return elements([pull(1).at(0)])


AT = Kind("At", _at, lambda *_: 1)


def map(source: Node, map_func: Any, num_parallel_calls: Any, deterministic: Any) -> Stage:
    """The results of a function for each element."""
    calls = workers(num_parallel_calls)
    function = traced(map_func, "map_func", unpacked(source._structure.spec))
    return Stage(MAP, [source], [function, calls, deterministic is not False], function.gives)


def filter(source: Node, predicate: Any) -> Stage:
    """The elements for which a function gives True."""
    return source._stage(FILTER, _predicate(source, predicate))


def take_while(source: Node, predicate: Any) -> Stage:
    """The elements before the first for which a function gives False."""
    return source._stage(TAKE_WHILE, _predicate(source, predicate))


def _predicate(source: Node, predicate: Any) -> Traced:
    function = traced(predicate, "predicate", unpacked(source._structure.spec))
    spec = function.gives.spec
    if not isinstance(spec, TensorSpec) or spec.dtype != _core.bool or spec.shape.rank not in (0, None):
        raise DTypeError(f"argument 'predicate' must give a scalar bool, got {spec}")
    return function


def take(source: Node, count: Any) -> Stage:
    """The first elements."""
    return source._stage(TAKE, integer(count, "count"))


def skip(source: Node, count: Any) -> Stage:
    """What comes after the first elements."""
    return source._stage(SKIP, integer(count, "count"))


def repeat(source: Node, count: Any) -> Stage:
    """The elements over and over."""
    return source._stage(REPEAT, -1 if count is None else integer(count, "count"))


def shuffle(source: Node, buffer_size: Any, seed: Any, reshuffle_each_iteration: Any) -> Stage:
    """The elements in a random order."""
    size = integer(buffer_size, "buffer_size")
    if isinstance(size, int):
        buffer(size)
    number = None if seed is None else integer(seed, "seed")
    return source._stage(SHUFFLE, size, number, Seeds(reshuffle_each_iteration is not False))


def prefetch(source: Node, buffer_size: Any) -> Stage:
    """The elements, which a thread computes ahead."""
    size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size", -1)
    return source._stage(PREFETCH, size)


def cache(source: Node, filename: Any, reader: Callable[[Any], Reading]) -> Stage:
    """The elements, which are kept in memory or in files."""
    prefix = path_of(filename, "filename")
    if prefix:
        return _kept(source, prefix, None, None, reader(None), "filename")
    return source._stage(CACHE, _stages.Store())


def snapshot(source: Node, path: Any, compression: Any, read: Reading, shard_func: Any) -> Stage:
    """The elements, which are kept in files of a directory."""
    prefix = _saved.prefix_in(path_of(path, "path"))
    return _kept(source, prefix, _saved.compression_of(compression), shard_func, read, "path")


def _kept(
    source: Node, prefix: str, compression: Any, shard_func: Any, read: Reading, argument: str
) -> Stage:
    """The elements, which are kept in files; the other arguments are those of `snapshot`."""
    structure = source._structure
    _saved.portable(structure.spec)

    def opened(prefix: str) -> Any:
        return read(prefix, structure)._open()

    return source._stage(KEPT, prefix, compression, to_shards(source, shard_func), opened, argument)


def to_shards(source: Node, shard_func: Any) -> Traced | None:
    """The function that gives the number of the shard of an element; None where there is none."""
    if shard_func is None:
        return None
    number = TensorSpec([], _core.int64)
    return traced(shard_func, "shard_func", unpacked(source._structure.spec), number)


def enumerate(source: Node, start: Any) -> Stage:
    """Pairs of a number and an element."""
    spec = (TensorSpec([], _core.int64), source._structure.spec)
    return Stage(ENUMERATE, [source], [integer(start, "start")], spec)


# What stands for the number of parts, and for one of them, where a strategy is to say both.
SHARD_HINT = -1


def _hinted(source: Node) -> Any:
    raise FailedPreconditionError(
        "argument 'num_shards' is SHARD_HINT: a strategy is to say how many parts there are, to which the "
        "data set is given with the policy HINT"
    )


# Marks a data set whose elements the processes share.
HINTED = Kind("ShardHint", _hinted)


def shard(source: Node, num_shards: Any, index: Any) -> Stage:
    """Every so manieth element."""
    if isinstance(num_shards, int) and num_shards == SHARD_HINT and index == SHARD_HINT:
        return source._stage(HINTED)
    shards, at = integer(num_shards, "num_shards", 1), integer(index, "index", 0)
    if isinstance(at, int) and isinstance(shards, int) and at >= shards:
        raise InvalidArgumentError(f"argument 'index' must be below num_shards, {shards}, got {at}")
    return source._stage(SHARD, shards, at)


def unique(source: Node) -> Stage:
    """The elements that did not come before."""
    if not source._structure.plain:
        raise TypeError(f"unique() compares tensors, the elements are {source._structure.spec}")
    return source._stage(UNIQUE)


def scan(source: Node, initial_state: Any, scan_func: Any) -> Stage:
    """What a function gives for each element and a state."""
    state = converted(initial_state, "argument 'initial_state'")
    leaves, spec = nest.flatten(state), source._structure.spec
    function, _ = traced_with_state(scan_func, "scan_func", spec_of(state), spec, True)
    return Stage(SCAN, [source], [function, len(leaves), *leaves], function.gives.spec[1])


def flat_map(source: Node, map_func: Any) -> Stage:
    """The elements of the data sets that a function gives, one set after the other."""
    function, spec = _maker(source, map_func)
    return Stage(FLAT_MAP, [source], [function, _windows.batches_of(function)], spec)


def interleave(
    source: Node, map_func: Any, cycle_length: Any, block_length: Any, num_parallel_calls: Any
) -> Stage:
    """The elements of the data sets that a function gives, some from each in turn."""
    function, spec = _maker(source, map_func)
    cycle = AUTOTUNE if cycle_length is None else integer(cycle_length, "cycle_length", -1)
    if isinstance(cycle, int) and cycle == 0:
        raise InvalidArgumentError("argument 'cycle_length' must be at least 1, or AUTOTUNE, got 0")
    block = 1 if block_length is None else integer(block_length, "block_length", 1)
    calls = workers(num_parallel_calls)
    if isinstance(calls, int) and isinstance(cycle, int) and 0 < cycle < calls:
        raise InvalidArgumentError(
            f"argument 'num_parallel_calls' must be at most cycle_length, {cycle}, got {calls}"
        )
    return Stage(INTERLEAVE, [source], [function, cycle, block, calls], spec)


def _maker(source: Node, map_func: Any) -> tuple[Traced, Any]:
    """A function that gives data sets, and the specification of their elements."""
    function = traced(map_func, "map_func", unpacked(source._structure.spec))
    if not isinstance(function.gives.spec, DatasetSpec):
        raise TypeError(f"argument 'map_func' must give a data set, got {function.gives.spec}")
    return function, function.gives.spec.element_spec


def ignore_errors(source: Node, log_warning: Any) -> Stage:
    """The elements that can be computed without an error."""
    return source._stage(IGNORE_ERRORS, bool(log_warning))


def rejection_resample(
    source: Node, class_func: Any, target_dist: Any, initial_dist: Any, seed: Any
) -> Stage:
    """Pairs of a class and an element, of which some are left out."""
    classes = traced(class_func, "class_func", unpacked(source._structure.spec))
    spec = classes.gives.spec
    if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank not in (0, None):
        raise TypeError(f"argument 'class_func' must give an integer scalar, got {spec}")
    target = _core._to_tensor(target_dist, _core.float32)
    initial = None if initial_dist is None else _core._to_tensor(initial_dist, _core.float32)
    for given, argument in ((target, "target_dist"), (initial, "initial_dist")):
        if given is not None and (given.shape.rank != 1 or given.shape != target.shape):
            raise InvalidArgumentError(
                f"argument '{argument}' must be a vector with a number for each class, got {given}"
            )
    number = None if seed is None else integer(seed, "seed")
    args = [classes, target, initial, number, Seeds(True)]
    return Stage(RESAMPLE, [source], args, (spec, source._structure.spec))
