"""Nests: lists, tuples, mappings, their views and some dataclasses, with anything at the leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView
from typing import Any, Final

from penstock import _core

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


# The commonest classes whose values are leaves, and hold no others: asking what else one could be takes long.
LEAVES: Final = frozenset({int, float, bool, complex, str, bytes, type(None), _core.Tensor})

# The commonest classes of nests.
_NESTS: Final = frozenset({list, tuple, dict})


def is_nested(seq: Any) -> bool:
    """Tell whether a value is a list, tuple, mapping, a view of one, or a dataclass that takes itself apart.

    The latter has a method `__tf_flatten__`, which gives a tuple of what stays as it is and one of the
    children, and a class method `__tf_unflatten__`, which makes an instance of these.

    Args:
        seq: anything.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.nest.is_nested([1]), tf.nest.is_nested(1)
    (True, False)
    """
    kind = type(seq)
    if kind in LEAVES:
        return False
    if kind in _NESTS:
        return True
    return isinstance(seq, list | tuple | Mapping | MappingView) or _takes_itself_apart(seq)


def _takes_itself_apart(value: Any) -> bool:
    """Whether it is a dataclass with TensorFlow's protocol."""
    kind = type(value)
    return hasattr(kind, "__tf_flatten__") and hasattr(kind, "__dataclass_fields__")


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def _children(structure: Any) -> Iterable[Any]:
    if type(structure) in (list, tuple):
        return structure  # type: ignore[no-any-return]
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted_keys(structure)]
    if _takes_itself_apart(structure):
        return structure.__tf_flatten__()[1]  # type: ignore[no-any-return]
    return structure  # type: ignore[no-any-return]


def _specification(node: Any) -> Any:
    """The specification of a composite value, which knows its tensors; None for anything else."""
    from penstock._types.specs import own_spec  # specifications build on this

    return own_spec(node)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """List the leaves, depth first; of mappings in the order of their keys.

    Args:
        structure: a nest.
        expand_composites: whether composite values, such as those of extension types, are taken apart into
            their tensors.

    Returns:
        The leaves.

    >>> import penstock as tf
    >>> tf.nest.flatten({"b": [2, 3], "a": 1})
    [1, 2, 3]
    """
    out: list[Any] = []
    _flatten_into(out, structure, expand_composites)
    return out


# A function within `flatten` that calls itself would keep the leaves until garbage is collected.
def _flatten_into(out: list[Any], node: Any, expand_composites: bool) -> None:
    if type(node) in LEAVES:
        out.append(node)
    elif is_nested(node):
        for child in _children(node):
            _flatten_into(out, child, expand_composites)
    elif expand_composites and (spec := _specification(node)) is not None:
        out.extend(spec.to_tensors(node))
    else:
        out.append(node)


def _rebuild(structure: Any, items: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(_sorted_keys(structure), items, strict=True))
        ordered = [(key, by_key[key]) for key in structure]
        return type(structure)(ordered)  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*items)
    if isinstance(structure, MappingView):
        return items
    if _takes_itself_apart(structure):
        return type(structure).__tf_unflatten__(structure.__tf_flatten__()[0], tuple(items))
    return type(structure)(items)


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any], expand_composites: bool = False) -> Any:
    """Put new leaves, in the order of `flatten`, into a structure.

    Args:
        structure: a nest.
        flat_sequence: the new leaves.
        expand_composites: whether the leaves are the tensors of composite values.

    Returns:
        The structure with the new leaves.

    Raises:
        ValueError: where the number of leaves differs.

    >>> import penstock as tf
    >>> tf.nest.pack_sequence_as({'a': 0, 'b': [0, 0]}, [1, 2, 3])
    {'a': 1, 'b': [2, 3]}
    """
    flat = list(flat_sequence)
    source: Iterator[Any] = iter(flat)
    expected = len(flatten(structure, expand_composites))
    if expected != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} atoms, "
            f"but flat_sequence had {len(flat)} items."
        )

    return _packed(structure, source, expand_composites)


def _packed(node: Any, source: Iterator[Any], expand_composites: bool) -> Any:
    if is_nested(node):
        return _rebuild(node, [_packed(child, source, expand_composites) for child in _children(node)])
    if expand_composites and (spec := _specification(node)) is not None:
        return spec.from_tensors(source)
    return next(source)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless both are nested alike.

    Args:
        nest1: a nest.
        nest2: a nest.
        check_types: whether containers must be of one type.
        expand_composites: accepted.

    Raises:
        ValueError: where lengths or keys differ, or one is nested where the other is not.
        TypeError: where the types of containers differ, if `check_types`.

    >>> import penstock as tf
    >>> tf.nest.assert_same_structure([1, (2,)], ['a', ('b',)])
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            _different(nest1, nest2, f"one of {nest1!r} and {nest2!r} is a sequence, the other is not")
        )
    if not is_nested(nest1):
        return
    both_mappings = isinstance(nest1, Mapping) and isinstance(nest2, Mapping)
    if check_types and type(nest1) is not type(nest2) and not both_mappings:
        raise TypeError(
            _different(nest1, nest2, f"the containers are of types {type(nest1)} and {type(nest2)}")
        )
    if both_mappings and set(nest1) != set(nest2):
        raise ValueError(_different(nest1, nest2, f"the keys are {set(nest1)} and {set(nest2)}"))
    first, second = list(_children(nest1)), list(_children(nest2))
    if len(first) != len(second):
        raise ValueError(_different(nest1, nest2, f"they have {len(first)} and {len(second)} elements"))
    for a, b in zip(first, second, strict=True):
        assert_same_structure(a, b, check_types)


def _different(nest1: Any, nest2: Any, how: str) -> str:
    return (
        "The two structures don't have the same nested structure.\n"
        f"First structure: type={type(nest1).__name__} str={nest1!r}\n"
        f"Second structure: type={type(nest2).__name__} str={nest2!r}\n"
        f"More specifically: {how}"
    )


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply `func` to the leaves of structures that are nested alike.

    Args:
        func: called with one leaf of each structure.
        *structure: the structures.
        **kwargs: `check_types=False` allows containers of different types; `expand_composites=True` applies
            `func` to the tensors of composite values.

    Returns:
        The results, in the structure of the first.

    Raises:
        TypeError: for a `func` that is not callable, or other keywords.
        ValueError: where the structures differ.

    >>> import penstock as tf
    >>> tf.nest.map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not callable(func):
        raise TypeError(f"argument 'func' must be callable, got {func!r}")
    if not structure:
        raise ValueError("at least one structure must be given")
    check_types = kwargs.pop("check_types", True)
    composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    flat = zip(*(flatten(s, composites) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in flat], composites)
