"""Stages that make elements, or take them from several data sets, and those that look at all elements."""

from __future__ import annotations

import builtins
import glob
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _core, nest
from penstock._runtime.arguments import items
from penstock._types.argument_names import path_of
from penstock._types.rows import row_count
from penstock._types.specs import TensorSpec, TypeSpec
from penstock.data import _saved, _sources, _stages
from penstock.data._arguments import integer
from penstock.data._elementwise import OPTIONS, Reading, take, to_shards
from penstock.data._functions import traced_with_state
from penstock.data._node import INFINITE, UNKNOWN, Kind, Node, Stage
from penstock.data._rows import Pull, Reader, Rows, one
from penstock.data._specs import DatasetSpec
from penstock.data._structure import Structure, checked_spec, converted, row_spec, spec_of
from penstock.errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = [
    "choose",
    "concatenate",
    "counter",
    "file_names",
    "from_generator",
    "from_tensor_slices",
    "from_tensors",
    "random",
    "range",
    "reader",
    "reduce",
    "sample",
    "save",
    "saved_at",
    "signature_of",
    "single",
    "zip",
]


def _range_size(start: int, stop: int | None, step: int, dtype: Any) -> int:
    return INFINITE if stop is None else len(builtins.range(start, stop, step))


def _summed(*sizes: int) -> int:
    if INFINITE in sizes:
        return INFINITE
    return UNKNOWN if UNKNOWN in sizes else sum(sizes)


def _least(*sizes: int) -> int:
    ends = [n for n in sizes if n != INFINITE]
    if 0 in ends:
        return 0
    return UNKNOWN if UNKNOWN in ends else min(ends, default=INFINITE)


def _chosen_size(choices: int, *args: Any) -> int:
    """Without end where both the choices and the data sets that they come to are."""
    *sizes, stop_on_empty = args
    ends = [n != INFINITE for n in sizes]
    return UNKNOWN if choices != INFINITE or (any(ends) if stop_on_empty else all(ends)) else INFINITE


def _told(prefix: str, count: Callable[[Any], int]) -> int:
    """A number that the files of saved elements tell."""
    try:
        return count(_saved.read_index(prefix))
    except (NotFoundError, DataLossError):
        return UNKNOWN


def _slice_count(*leaves: Any) -> int:
    return next((int(row_count(leaf)) for leaf in leaves if leaf is not None), 0)


def _reduced(source: Any, function: Any, *state: Any) -> Pull:
    """The last state as the only element."""
    done = False

    def pull(limit: int) -> Rows | None:
        nonlocal done
        if done:
            return None
        done, held, read = True, list(state), Reader(source._open())
        while (leaves := read()) is not None:
            held = function([*held, *leaves])
        return one(held)

    return pull


TENSORS = Kind("Tensor", _sources.tensors, lambda *_: 1)
SLICES = Kind("TensorSlice", _sources.slices, _slice_count)
RANGE = Kind("Range", _sources.numbers, _range_size)
RANDOM = Kind("Random", _sources.random, lambda *_: INFINITE)
GENERATOR = Kind("Generator", lambda make, structure, args: _sources.generated(make, structure, args))
SAVED = Kind("Save", _saved.saved, lambda *_: 1)
SHARD_FILE = Kind("Shard", _saved.shard, lambda prefix, told, *_: told.size)
SHARDS = Kind("Shards", _saved.shards, lambda prefix, *_: _told(prefix, lambda index: len(index.shards)))
READ = Kind(
    "Load",
    lambda source, prefix: source._open(),
    lambda n, prefix: _told(prefix, _saved.Index.size) if n == UNKNOWN else n,
)
LOADED = Kind("Load", _saved.loaded, lambda prefix, *_: _told(prefix, _saved.Index.size))
CONCATENATE = Kind("Concatenate", _stages.concatenate, _summed)
ZIP = Kind("Zip", _stages.zipped, _least)
CHOOSE = Kind("DirectedInterleave", lambda *a: _stages.chosen(a[0], a[-1], *a[1:-1]), _chosen_size)
DRAWN_BY = Kind("Drawn", _stages.drawn_by, lambda n, *_: n)
DRAWN = Kind("Drawn", _stages.drawn, lambda *_: INFINITE)
REDUCED = Kind("Reduce", _reduced, lambda *_: 1)


def from_tensors(tensors: Any) -> Stage:
    """One element."""
    value = converted(tensors, "argument 'tensors'")
    return Stage(TENSORS, [], nest.flatten(value), spec_of(value))


def from_tensor_slices(tensors: Any) -> Stage:
    """The rows of tensors."""
    value = converted(tensors, "argument 'tensors'")
    spec = nest.map_structure(lambda s: row_spec(s, "argument 'tensors'"), spec_of(value))
    leaves = nest.flatten(value)
    sizes = {
        int(s) for x in leaves if isinstance(x, _core.Tensor) and (s := x.shape._dims and x.shape._dims[0])
    }
    sizes |= {0 for x in leaves if isinstance(x, _core.Tensor) and x.shape._dims and x.shape._dims[0] == 0}
    if len(sizes) > 1:
        raise InvalidArgumentError(f"argument 'tensors' must have one first dimension, got {sorted(sizes)}")
    if not [leaf for leaf in leaves if leaf is not None]:
        raise InvalidArgumentError("argument 'tensors' must hold at least one tensor")
    return Stage(SLICES, [], leaves, spec)


def range(args: Sequence[Any], output_type: Any) -> Stage:
    """The numbers of a range."""
    if not 1 <= len(args) <= 3:
        raise TypeError(f"range takes 1 to 3 positional arguments, got {len(args)}")
    names = ("stop",) if len(args) == 1 else ("start", "stop", "step")
    numbers = [integer(a, n) for a, n in builtins.zip(args, names, strict=False)]
    start, stop, step = (0, numbers[0], 1) if len(args) == 1 else (*numbers, 1)[:3]
    if isinstance(step, int) and step == 0:
        raise InvalidArgumentError("argument 'step' must not be 0")
    dtype = _core.DType(output_type)
    return Stage(RANGE, [], [start, stop, step, dtype], TensorSpec([], dtype))


def counter(start: Any, step: Any, dtype: Any) -> Stage:
    """Numbers without end."""
    dtype = _core.DType(dtype)
    args = [integer(start, "start"), None, integer(step, "step"), dtype]
    return Stage(RANGE, [], args, TensorSpec([], dtype))


def random(seed: Any, rerandomize_each_iteration: Any) -> Stage:
    """Random numbers without end."""
    number = None if seed is None else integer(seed, "seed")
    seeds = _sources.Seeds(bool(rerandomize_each_iteration))
    return Stage(RANDOM, [], [number, seeds], TensorSpec([], _core.int64))


def from_generator(
    generator: Any, output_types: Any, output_shapes: Any, args: Any, output_signature: Any
) -> Stage:
    """What an iterable gives."""
    if not callable(generator):
        raise TypeError(f"argument 'generator' must be callable, got {generator!r}")
    if output_signature is None:
        if output_types is None:
            raise TypeError("from_generator needs argument 'output_signature' or 'output_types'")
        output_signature = signature_of(output_types, output_shapes)
    elif output_types is not None or output_shapes is not None:
        raise TypeError("from_generator takes argument 'output_signature', or output_types and output_shapes")
    structure = Structure(checked_spec(output_signature, "output_signature"))
    given = [_core._to_tensor(arg) for arg in args or ()]
    return Stage(GENERATOR, [], [generator, structure, given], structure)


def file_names(file_pattern: Any) -> list[str]:
    """The names of the files that match one of some patterns, in order."""
    given = _core._to_tensor(file_pattern)
    if given.dtype != _core.string:
        raise TypeError(f"argument 'file_pattern' must hold strings, got dtype {given.dtype.name}")
    patterns = np.ravel(given.numpy()).tolist()
    names = sorted({name for pattern in patterns for name in glob.glob(pattern.decode())})  # noqa: PTH207 -- patterns are absolute or not
    if not names:
        raise InvalidArgumentError(
            f"argument 'file_pattern': no file matches {[p.decode() for p in patterns]}"
        )
    return names


def zip(args: Sequence[Any], datasets: Any) -> Stage:
    """Elements of several data sets together."""
    if bool(args) == (datasets is not None):
        raise TypeError("zip takes data sets, or argument 'datasets'")
    found = datasets if datasets is not None else args[0] if len(args) == 1 else args
    if isinstance(found, list):
        raise TypeError("zip takes a tuple of data sets, or another nest: a list is none")
    sources = nest.flatten(found)
    for source in sources:
        _check(source, "args" if args else "datasets")
    spec = nest.pack_sequence_as(found, [source._structure.spec for source in sources])
    return Stage(ZIP, sources, [], spec)


def concatenate(first: Node, dataset: Any) -> Stage:
    """The elements of a data set, then those of another one."""
    _check(dataset, "dataset")
    return Stage(CONCATENATE, [first, dataset], [], _common([first, dataset], "dataset"))


def choose(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: Any) -> Stage:
    """Elements of several data sets, in the order that another one gives."""
    sources = items(datasets, "datasets")
    if not sources:
        raise InvalidArgumentError("argument 'datasets' must hold at least one data set")
    for source in sources:
        _check(source, "datasets")
    _check(choice_dataset, "choice_dataset")
    spec = choice_dataset._structure.spec
    if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank != 0:
        raise TypeError(f"argument 'choice_dataset' must have int64 scalars, got {spec}")
    inputs = [choice_dataset, *sources]
    return Stage(CHOOSE, inputs, [bool(stop_on_empty_dataset)], _common(sources, "datasets"))


def sample(
    datasets: Any, weights: Any, seed: Any, stop_on_empty_dataset: Any, rerandomize_each_iteration: Any
) -> Stage:
    """Elements of several data sets, each drawn at random."""
    sources = items(datasets, "datasets")
    if not sources:
        raise InvalidArgumentError("argument 'datasets' must hold at least one data set")
    number = None if seed is None else integer(seed, "seed")
    seeds = _sources.Seeds(bool(rerandomize_each_iteration))
    if isinstance(weights, Node):
        _check_weights(weights._structure.spec, len(sources), weights)
        choices = Node._make(DRAWN_BY, [weights], [number, seeds], TensorSpec([], _core.int64))
        return choose(sources, choices, stop_on_empty_dataset)
    chances = _core._to_tensor([1.0] * len(sources) if weights is None else weights)
    _check_weights(chances, len(sources), weights)
    if not chances._is_symbolic:
        found = chances.numpy()
        if not (found >= 0).all():
            raise InvalidArgumentError(f"argument 'weights' must hold no chance below 0, got {weights}")
        spec = _common(sources, "datasets")
        kept = [source for source, chance in builtins.zip(sources, found, strict=True) if chance > 0]
        if len(kept) < 2:
            only = kept[0] if kept else Node._make(*take(sources[0], 0))
            return Stage(OPTIONS, [only], [], spec)
        sources, chances = kept, _core._to_tensor(found[found > 0])
    choices = Node._make(DRAWN, [], [number, seeds, chances], TensorSpec([], _core.int64))
    return choose(sources, choices, stop_on_empty_dataset)


def save(source: Node, path: Any, compression: Any, shard_func: Any) -> Stage:
    """The number of elements, which are written to files, as the only element."""
    args = [path_of(path, "path"), _saved.compression_of(compression), to_shards(source, shard_func)]
    _saved.portable(source._structure.spec)
    return Stage(SAVED, [source], args, TensorSpec([], _core.int64))


def saved_at(path: Any, element_spec: Any, compression: Any) -> tuple[str, Structure]:
    """How the names of the files of saved elements begin, and the structure of the elements."""
    prefix, _ = _saved.prefix_in(path_of(path, "path")), _saved.compression_of(compression)
    spec = None if element_spec is None else checked_spec(element_spec, "element_spec")
    try:
        index = _saved.read_index(prefix)
    except NotFoundError:
        # A graph may write the files before it reads them.
        if spec is None or not _core._is_tracing():
            raise
        return prefix, Structure(spec)
    if spec is not None:
        _saved.check(spec, index.spec, prefix)
    return prefix, Structure(index.spec)


def reader(reader_func: Any) -> Reading:
    """What makes the data set of saved elements: a function of how names begin and of the structure."""
    make = Node._make
    if reader_func is None:
        return lambda prefix, structure: make(LOADED, [], [prefix, structure], structure)
    if not callable(reader_func):
        raise TypeError(f"argument 'reader_func' must be callable, got {reader_func!r}")

    def read(prefix: str, structure: Structure) -> Any:
        def opened(*args: Any) -> Any:
            return make(SHARD_FILE, [], args, structure)

        shards = make(SHARDS, [], [prefix, structure, opened], DatasetSpec(structure.spec))
        found = reader_func(shards)
        if not isinstance(found, Node):
            raise TypeError(f"argument 'reader_func' must give a data set, got {found!r}")
        return make(*found._stage(READ, prefix))

    return read


def reduce(source: Node, initial_state: Any, reduce_func: Any) -> Stage:
    """The state that a function makes of all elements, as the only element."""
    state = converted(initial_state, "argument 'initial_state'")
    found, spec = traced_with_state(reduce_func, "reduce_func", spec_of(state), source._structure.spec)
    # Of the state as an element, so that it may depend on the graph, and the function too.
    return Stage(REDUCED, [source], [found, *nest.flatten(state)], spec)


def single(source: Node) -> list[Any]:
    """The leaves of the only element.

    Raises:
        InvalidArgumentError: where there is none, or another one.
    """
    read = Reader(source._open())
    leaves = read()
    if leaves is None:
        raise InvalidArgumentError("get_single_element: the data set is empty")
    if read() is not None:
        raise InvalidArgumentError("get_single_element: the data set has more than one element")
    return leaves


def _check(value: Any, argument: str) -> None:
    if not isinstance(value, Node):
        raise TypeError(f"argument '{argument}' must hold tf.data.Dataset, got {value!r}")


def _check_weights(spec: Any, count: int, weights: Any) -> None:
    """Raises unless these are as many numbers as there are data sets."""
    shape = spec.shape if isinstance(spec, TensorSpec | _core.Tensor) else None
    if shape is None or not shape.is_compatible_with([count]):
        raise InvalidArgumentError(
            f"argument 'weights' must have a chance for each of {count} data sets, got {weights}"
        )
    if not (spec.dtype.is_floating or spec.dtype.is_integer):
        raise TypeError(f"argument 'weights' must hold numbers, got {weights}")


def _common(sources: Sequence[Any], argument: str) -> Any:
    """What the elements of several data sets are."""
    for source in sources:
        _check(source, argument)
    first = sources[0]._structure.spec
    for other in sources[1:]:
        spec = other._structure.spec
        try:
            nest.assert_same_structure(first, spec)
            pairs = builtins.zip(nest.flatten(first), nest.flatten(spec), strict=True)
            joined = [a.most_specific_common_supertype([b]) for a, b in pairs]
        except (TypeError, ValueError):
            joined = [None]
        if any(leaf is None for leaf in joined):
            raise TypeError(f"argument '{argument}': the elements must have one type, got {first} and {spec}")
        first = nest.pack_sequence_as(first, joined)
    return first


def signature_of(types: Any, shapes: Any) -> Any:
    """The specifications for a nest of dtypes and one of shapes."""
    if isinstance(types, TypeSpec):
        return types
    if isinstance(types, tuple):
        shapes = [None] * len(types) if shapes is None else shapes
        return tuple(signature_of(t, s) for t, s in builtins.zip(types, shapes, strict=True))
    if isinstance(types, dict):
        return {k: signature_of(t, None if shapes is None else shapes[k]) for k, t in types.items()}
    return TensorSpec(shapes, types)
