"""Calls by area that `table.toml` lists, and those that follow from the list of TensorFlow's symbols."""

from __future__ import annotations

import enum
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agreement.calls import Call

__all__ = ["constants", "is_random", "listed", "symbol"]

TABLE: Final = Path(__file__).with_name("table.toml")

# Objects whose attributes are compared, by the name of their class.
OBJECTS: Final = {
    "DType": ("tf.float32", "tf.qint8", "tf.string", "tf.complex128", "tf.bfloat16", "tf.variant"),
    "IndexedSlices": ("tf.IndexedSlices(C([[1.0], [2.0]]), C([0, 2]), C([3, 1]))",),
    "RaggedTensor": ("tf.ragged.constant([[1, 2], [], [3]])",),
    "sparse.SparseTensor": ("tf.sparse.from_dense(C([[0, 1], [2, 0]]))",),
    "SparseTensor": ("tf.sparse.from_dense(C([[0, 1], [2, 0]]))",),
    "Tensor": ("C([[1.0, 2.0]])",),
    "TensorArray": ("tf.TensorArray(tf.float32, 3, element_shape=[2])",),
    "TensorShape": ("tf.TensorShape([2, None])", "tf.TensorShape(None)"),
    "TensorSpec": ("tf.TensorSpec([2, None], tf.int8, 'a')",),
    "Variable": ("tf.Variable([1.0, 2.0])",),
    "data.Dataset": ("tf.data.Dataset.range(3).batch(2)",),
    "data.Iterator": ("iter(tf.data.Dataset.range(3).batch(2))",),
    "data.Options": ("tf.data.Options()",),
    "random.Generator": ("tf.random.Generator.from_seed(3)",),
}
# Constants that say which release it is, how it was built, or that have no value of their own.
OWN: Final = re.compile(r"version\.|sysconfig\.|__|\.(handle|flow|graph|op|device|initializer)$")


# Functions of numbers that no seed decides, or whose numbers are this package's own.
RANDOM: Final = re.compile(
    r"tf\.random\.(?!stateless|Generator|split|fold_in|experimental)|tf\.image\.random|dropout|shuffle|sample_from|_sampler"
    r"|random_(normal|uniform|crop|index)|initializers|experimental\.numpy\.random|rejection_resample|stateless_sample"
)


def is_random(source: str) -> bool:
    """Whether the elements of a call's results are left to chance, so that only dtypes and shapes agree."""
    return RANDOM.search(source) is not None


def listed() -> Iterator[Call]:
    """The calls of the table; `… {name} … for a b c` stands for one call each.

    An area with a `program` has programs, each with a call in place of `CALL`.
    """
    for calls in tomllib.loads(TABLE.read_text(encoding="utf-8")).values():
        program = calls.get("program")
        for line in calls["calls"]:
            pattern, several, names = line.partition(" for ") if "{name}" in line else (line, "", "")
            for name in names.split() if several else [""]:
                source = pattern.replace("{name}", name) if several else pattern
                source = source.replace("{{", "{").replace("}}", "}")
                if program is None:
                    yield Call(source, "eager", symbol(source))
                else:
                    yield Call(program.replace("CALL", source).strip(), "program", symbol(source))


def symbol(source: str) -> str:
    """The symbol that a call is of: the first that its source names.

    >>> symbol("tf.math.add(T('int8', (2,)), 1)")
    'math.add'
    """
    found = re.search(r"\btf((?:\.\w+)+)", source)
    return found[1][1:] if found else ""


def _is_enumeration(name: str) -> bool:
    import penstock

    value: Any = penstock
    for part in name.split("."):
        value = getattr(value, part, None)
    return isinstance(value, enum.EnumType)


def constants() -> Iterator[Call]:
    """Calls that look up constants, dtypes, members of enumerations and codes, and attributes of objects."""
    # A process that asks TensorFlow does not have the package.
    from penstock._api_names import symbols

    for found in symbols().values():
        name = found.name
        if not found.counted or OWN.search(name):
            continue
        owner, _, attribute = name.rpartition(".")
        if found.kind == "constant":
            yield Call(f"tf.{name}", "program", name)
        elif name.startswith("errors.") and name[7:].endswith("Error"):
            yield Call(f"tf.{name}(None, None, 'a').error_code", "program", name)
        elif found.kind == "attribute" and owner in OBJECTS:
            for source in OBJECTS[owner]:
                yield Call(f"({source}).{attribute}", "program", name)
        elif found.kind == "class" and _is_enumeration(name):
            yield Call(f"sorted(m.name for m in tf.{name})", "program", name)
