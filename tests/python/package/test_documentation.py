"""Every public name of the first tier says what it does and shows it, and what it shows is what happens."""

import inspect
import types
from operator import attrgetter

import pytest

import penstock as tf
from penstock._api_names import TIERS

# Names without an example of their own, and why.
WITHOUT_EXAMPLE = {
    "newaxis": "is None",
    "types.experimental.TensorLike": "is a union of classes, which has no docstring of its own",
    **{
        f"errors.{name}": "is caught as `OpError` and `InvalidArgumentError` show"
        for name in TIERS[1]["errors"]
        if name.endswith("Error") and name not in ("OpError", "InvalidArgumentError")
    },
}


def lookup(path):
    value = tf
    for part in path.split("."):
        value = getattr(value, part)
    return value


def documented():
    """The names whose docstrings are their own: no numbers, dtypes or modules."""
    for namespace, names in TIERS[1].items():
        for name in names:
            path = f"{namespace}.{name}" if namespace else name
            value = lookup(path)
            if not isinstance(value, int | tf.DType | types.ModuleType):
                yield path, value


@pytest.mark.parametrize(("path", "value"), [pytest.param(p, v, id=p) for p, v in documented()])
def test_a_public_name_has_a_docstring_with_an_example(path, value):
    if path in WITHOUT_EXAMPLE:
        return
    text = inspect.getdoc(value)
    assert text
    assert text.split("\n")[0].rstrip().endswith((".", ":", "`"))
    assert ">>> " in text


def test_exceptions_are_needed():
    for path in WITHOUT_EXAMPLE:
        assert ">>> " not in (inspect.getdoc(lookup(path)) or "")


@pytest.mark.parametrize(("path", "value"), [pytest.param(p, v, id=p) for p, v in documented()])
def test_the_collection_of_doctests_finds_the_examples(path, value):
    """A function is what its module has under its name: one that a factory made is not."""
    if path not in WITHOUT_EXAMPLE and inspect.isfunction(value):
        assert attrgetter(value.__qualname__)(inspect.getmodule(value)) is value
