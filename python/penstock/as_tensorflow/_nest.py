"""Nests, as `tensorflow.python.util.nest` has them: shallow structures, and paths.

A shallow structure is one that another is nested like as far as it goes; what the other has at its leaves
may be nested further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock import nest

__all__ = [
    "assert_shallow_structure",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "flatten_with_tuple_paths_up_to",
    "get_traverse_shallow_structure",
    "is_attrs",
    "is_mapping",
    "is_namedtuple",
    "is_nested_or_composite",
    "is_sequence",
    "map_structure_up_to",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to",
    "yield_flat_paths",
]


def is_mapping(obj: Any) -> bool:
    """Tell whether a value is a mapping."""
    return isinstance(obj, Mapping)


def is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Tell whether a value is a named tuple; with `strict`, of a class made by `namedtuple` itself."""
    names = getattr(instance, "_fields", None)
    named = (
        isinstance(instance, tuple) and isinstance(names, tuple) and all(isinstance(n, str) for n in names)
    )
    return named and not (strict and type(instance).__base__ is not tuple)


def is_attrs(obj: Any) -> bool:
    """Tell whether a value is of a class that `attrs` made."""
    return hasattr(type(obj), "__attrs_attrs__")


def is_sequence(seq: Any) -> bool:
    """Tell whether a value is a nest, by the old name of `is_nested`."""
    return nest.is_nested(seq)


def is_nested_or_composite(seq: Any) -> bool:
    """Tell whether a value is a nest, or a composite value."""
    return nest.is_nested(seq) or nest._specification(seq) is not None


def _items(structure: Any) -> list[tuple[Any, Any]]:
    """The keys and children of a nest, in the order of `flatten`."""
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in nest._sorted_keys(structure)]
    if is_namedtuple(structure):
        return list(zip(structure._fields, structure, strict=True))
    return list(enumerate(nest._children(structure)))


def _opens(node: Any, expand_composites: bool) -> bool:
    return is_nested_or_composite(node) if expand_composites else nest.is_nested(node)


def _parts(node: Any, expand_composites: bool) -> list[tuple[Any, Any]]:
    spec = nest._specification(node) if expand_composites and not nest.is_nested(node) else None
    return _items(node) if spec is None else list(enumerate(spec.to_tensors(node)))


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless `input_tree` is nested like `shallow_tree`, as far as that goes.

    Args:
        shallow_tree: a nest.
        input_tree: a nest.
        check_types: whether containers must be of one type; mappings may be of several.
        expand_composites: whether composite values are nests of their tensors.

    Raises:
        TypeError: where types of containers differ, or a leaf stands for a nest.
        ValueError: where lengths or keys differ.
    """
    for _ in _pairs(shallow_tree, input_tree, check_types, expand_composites):
        pass


def _pairs(
    shallow: Any, deep: Any, check_types: bool, composites: bool, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The path of each leaf of the shallow structure, and what the other one has there."""
    if not _opens(shallow, composites):
        yield path, deep
        return
    if not _opens(deep, composites):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(deep).__name__!r}."
        )
    if check_types and not _alike(shallow, deep):
        raise TypeError(
            "The two structures don't have the same sequence type. "
            f"Input structure has type {type(deep).__name__!r}, "
            f"while shallow structure has type {type(shallow).__name__!r}."
        )
    ours, theirs = _parts(shallow, composites), _parts(deep, composites)
    if len(ours) != len(theirs):
        raise ValueError(
            "The two structures don't have the same sequence length. "
            f"Input structure has length {len(theirs)}, while shallow structure has length {len(ours)}."
        )
    named = isinstance(shallow, Mapping) and isinstance(deep, Mapping)
    for (key, part), (other_key, other) in zip(ours, theirs, strict=True):
        if named and key != other_key:
            raise ValueError(
                "The two structures don't have the same keys. "
                f"Input structure has keys {list(deep)}, while shallow structure has keys {list(shallow)}."
            )
        yield from _pairs(part, other, check_types, composites, (*path, key))


def _alike(a: Any, b: Any) -> bool:
    if is_namedtuple(a) and is_namedtuple(b):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    both = isinstance(a, Mapping) and isinstance(b, Mapping)
    composite = not nest.is_nested(a) and not nest.is_nested(b)
    return both or composite or type(a) is type(b) or isinstance(b, type(a)) or isinstance(a, type(b))


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """List what `input_tree` has at the leaves of `shallow_tree`.

    Raises as `assert_shallow_structure` does.
    """
    return [part for _, part in _pairs(shallow_tree, input_tree, check_types, expand_composites)]


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """List pairs of a path and what `input_tree` has there, for the leaves of `shallow_tree`."""
    return list(_pairs(shallow_tree, input_tree, check_types, expand_composites))


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """List pairs of a path, which is a tuple of keys and indices, and a leaf."""
    return list(_pairs(structure, structure, False, expand_composites))


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Give the path of each leaf."""
    return (path for path, _ in flatten_with_tuple_paths(nest, expand_composites))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """List pairs of a path as text, with `separator` between its parts, and a leaf."""
    paths = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in paths]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Apply `func` to what the inputs have at the leaves of `shallow_tree`.

    Args:
        shallow_tree: a nest.
        func: called with one part of each input.
        *inputs: structures that are nested like it as far as it goes.
        **kwargs: `check_types` and `expand_composites` as `assert_shallow_structure` has them.

    Returns:
        The results in the structure of `shallow_tree`.
    """
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *parts: func(*parts), *inputs, **kwargs
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Apply `func` to each path and what the inputs have there; like `map_structure_up_to` else."""
    if not inputs:
        raise ValueError("at least one structure must be given")
    check_types = kwargs.pop("check_types", True)
    composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")
    flat = [flatten_with_tuple_paths_up_to(shallow_tree, tree, check_types, composites) for tree in inputs]
    results = [func(parts[0][0], *(part for _, part in parts)) for parts in zip(*flat, strict=True)]
    return nest.pack_sequence_as(shallow_tree, results, composites)


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply `func` to each path, which is a tuple of keys and indices, and the leaves there."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply `func` to each path, as text with `/` between its parts, and the leaves there."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs
    )


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Make the shallow structure that goes on where `traverse_fn` says so.

    Args:
        traverse_fn: called with each nest within; tells whether to go on into it, or gives a nest of bools
            that tells so for each child.
        structure: a nest.
        expand_composites: whether composite values are nests of their tensors.

    Returns:
        The shallow structure, with bools at its leaves.

    Raises:
        TypeError: where `traverse_fn` gives something else.
    """
    answer = traverse_fn(structure)
    if not _opens(structure, expand_composites):
        if not isinstance(answer, bool):
            raise TypeError(f"argument 'traverse_fn' must give a bool for a leaf, got {answer!r}")
        return answer
    if isinstance(answer, bool):
        if not answer:
            return False
        answers: Iterable[Any] = [True] * len(_parts(structure, expand_composites))
    else:
        assert_shallow_structure(answer, structure, expand_composites=expand_composites)
        answers = [part for _, part in _parts(answer, expand_composites)]
    children = []
    for goes_on, (_, part) in zip(answers, _parts(structure, expand_composites), strict=True):
        if not isinstance(goes_on, bool):
            raise TypeError(f"argument 'traverse_fn' must give bools, got {goes_on!r}")
        nested = goes_on and _opens(part, expand_composites)
        children.append(
            get_traverse_shallow_structure(traverse_fn, part, expand_composites) if nested else goes_on
        )
    if not nest.is_nested(structure):
        return children
    return nest._rebuild(structure, children)


# What libraries call by names that are private in TensorFlow.
_is_namedtuple = is_namedtuple
_sequence_like = nest._rebuild


def _yield_value(iterable: Any) -> Iterator[Any]:
    return (part for _, part in _items(iterable))


def _yield_sorted_items(iterable: Any) -> Iterator[tuple[Any, Any]]:
    return iter(_items(iterable))
