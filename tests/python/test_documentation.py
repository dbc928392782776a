"""Every public name of the first tier says what it does and shows it, and what it shows is what happens."""

import doctest
import inspect
import types

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


def generated():
    """The names whose examples the collection of doctests does not find, since no module defines them."""
    seen = set()
    for path, value in documented():
        if path in WITHOUT_EXAMPLE:
            continue
        module = lookup(path.rpartition(".")[0]) if "." in path else tf
        home = inspect.getmodule(value)
        elsewhere = home is None or vars(home).get(value.__name__) is not value
        if elsewhere and isinstance(module, types.ModuleType) and id(value) not in seen:
            seen.add(id(value))
            yield path, value, module


@pytest.mark.parametrize(("path", "value", "module"), [pytest.param(*x, id=x[0]) for x in generated()])
def test_generated_examples_show_what_happens(path, value, module):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    text = inspect.getdoc(value)
    example = doctest.DocTestParser().get_doctest(text, {**vars(module), "tf": tf}, path, None, None)
    report = []
    results = doctest.DocTestRunner(optionflags=flags).run(example, out=report.append)
    assert results.attempted
    assert not results.failed, "".join(report)
