"""Every message that the package and the crates raise has an entry in `docs/errors.md`."""

import sys
from pathlib import Path

import pytest

import penstock as tf

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import error_messages  # noqa: E402 -- from the folder of tools


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with one file of Python and one of Rust."""
    monkeypatch.setattr(error_messages, "ROOT", tmp_path)
    (tmp_path / "python" / "penstock").mkdir(parents=True)
    (tmp_path / "crates" / "penstock-data" / "src").mkdir(parents=True)
    return tmp_path


def python_messages(tree, source):
    (tree / "python" / "penstock" / "module.py").write_text(source, encoding="utf-8")
    return [m.text for m in error_messages.of_python()]


def rust_messages(tree, source):
    (tree / "crates" / "penstock-data" / "src" / "lib.rs").write_text(source, encoding="utf-8")
    return [m.text for m in error_messages.of_rust()]


def test_every_message_has_an_entry():
    assert [m for m in error_messages.messages() if error_messages.entry(m) is None] == []


def test_every_kind_has_a_message():
    found = {error_messages.entry(message) for message in error_messages.messages()}
    assert [kind.name for kind in error_messages.kinds() if kind.name not in found] == []


def test_every_kind_says_what_it_means_and_what_to_do():
    assert [kind.name for kind in error_messages.kinds() if not (kind.means and kind.do)] == []


def test_a_message_without_words_that_any_kind_has_is_found():
    assert (
        error_messages.entry(error_messages.Message("moonlight is blue", "python/penstock/_ops/x.py:1"))
        is None
    )


@pytest.mark.parametrize(
    ("call", "entry"),
    [
        (
            lambda: tf.reshape(tf.range(6), [4, 2]),
            "Input to reshape is a tensor with … values, but the requested shape has …",
        ),
        (lambda: tf.image.rot90(tf.ones([2, 2])), "An argument has another shape or number of entries"),
        (lambda: tf.one_hot([1], tf.constant([3, 4])), "An argument has a value or a type that is not taken"),
        (lambda: tf.constant(object()), "What is no tensor"),
        (lambda: tf.reduce_sum(tf.ones([2]), dim=0), "The arguments do not fit the parameters"),
        (lambda: tf.ones([2, 3])[5], "Indices and axes out of range"),
    ],
)
def test_a_message_that_comes_up_is_of_its_kind(call, entry):
    with pytest.raises(Exception) as caught:
        call()
    assert (
        error_messages.entry(error_messages.Message(str(caught.value), "python/penstock/_ops/x.py:1"))
        == entry
    )


def test_texts_of_python_have_gaps_for_what_is_filled_in(tree):
    source = 'def f(x):\n    raise ValueError(f"argument {x!r} must be " + "one of {}".format(x))\n'
    assert python_messages(tree, source) == ["argument … must be one of …"]


def test_functions_that_give_errors_or_their_texts_are_read(tree):
    source = (
        'def wrong() -> ValueError:\n    return ValueError("it is wrong")\n'
        'def why(x) -> str:\n    return "because of it"\n'
        'def unused() -> str:\n    return "no message at all"\n'
        "def f(x):\n    raise TypeError(why(x))\n"
    )
    assert sorted(python_messages(tree, source)) == ["because of it", "it is wrong"]


def test_texts_of_rust_have_gaps_for_what_is_filled_in(tree):
    source = (
        'fn f(n: usize) -> Result<()> { Err(Error::invalid(format!("{n} of {{x}} is \\"odd\\""))) }\n'
        'fn g() -> Error { let why = "a reason why"; damaged("an early \\\n    end") }\n'
        'fn damaged(what: &str) -> Error { Error::data_loss(format!("the file is damaged: {what}")) }\n'
        '#[cfg(test)]\nmod tests { fn t() { Error::invalid("in a test"); } }\n'
    )
    assert sorted(rust_messages(tree, source)) == [
        "a reason why",
        "an early end",
        "the file is damaged: …",
        '… of {x} is "odd"',
    ]


def test_the_page_of_all_messages_has_each_kind_and_its_messages():
    page = error_messages.listing()
    assert "## Data sets\n" in page
    assert "\nonly integers, slices (:), ellipsis" in page
