"""The check of what public functions say of themselves finds what is missing."""

from __future__ import annotations

import pytest

import check_signatures
from check_signatures import Public, missing
from penstock._api_names import Symbol


def complete(x: int, name: str | None = None) -> int:
    """Give the number.

    Args:
        x: a number.
        name: a name for people.

    Returns:
        The number.

    >>> import math
    >>> math.floor(1.5)
    1
    """
    return x


def bare(x, *rest):
    return x


def untidy(x: Any, y: int) -> int:  # noqa: F821
    """The number.

    Args:
        x: a number.
        z: another.

    >>> complete(1)
    1
    """
    if x is y:
        raise ValueError("x")
    return x


def test_a_function_that_says_all_lacks_nothing():
    assert missing(Public("complete", complete, False)) == []


def test_a_function_without_documentation_lacks_it():
    found = missing(Public("bare", bare, False))
    assert {"type of x", "type of rest", "documentation", "example"} <= {*found}


def test_each_thing_that_is_missing_is_named():
    assert missing(Public("untidy", untidy, False)) == [
        "type of x",
        "imperative: The",
        "what y is",
        "parameter z",
        "returns",
        "raises",
        "example that runs",
    ]


@pytest.mark.parametrize(
    ("theirs", "found"),
    [
        (["x", "name"], []),
        (["x"], []),
        (["x", "**kwargs"], []),
        (["name", "x"], ["parameters (name, x)"]),
        (["x", "y"], ["parameters (x, y)"]),
    ],
)
def test_parameters_stand_where_tensorflow_has_them(monkeypatch, theirs, found):
    symbol = Symbol("complete", "function", tuple(theirs), counted=True)
    monkeypatch.setattr(check_signatures, "symbols", lambda: {"complete": symbol})
    assert check_signatures.misplaced("complete", complete) == found


def test_what_is_public_has_one_name_each():
    entries = check_signatures.public()
    paths = [entry.path for entry in entries]
    assert len({*paths}) == len(paths)
    assert {"reduce_sum", "math.lgamma", "random.Generator.normal"} <= {*paths}
    assert not any("_" in (part[0] for part in path.split(".")) for path in paths)
