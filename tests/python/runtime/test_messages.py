"""Messages of protocol buffers without generated modules."""

import contextlib
import pickle

import pytest

import penstock as tf
from penstock._runtime.messages import Field, Message


class Inner(Message):
    FIELDS = {"number": Field(1, "int64"), "names": Field(2, "string", repeated=True)}


class Outer(Message):
    FIELDS = {
        "count": Field(1, "int32"),
        "ratio": Field(2, "double"),
        "small": Field(3, "float", repeated=True),
        "inner": Field(4, Inner),
        "many": Field(5, Inner, repeated=True),
        "by_name": Field(6, Inner, mapped=True),
        "flag": Field(7, "bool", oneof="choice"),
        "raw": Field(8, "bytes", oneof="choice"),
        "numbers": Field(9, "int64", repeated=True),
    }


def full():
    return Outer(
        count=-3,
        ratio=0.1,
        small=[1.5, 2.5],
        inner={"number": 2**62, "names": ["a", "b"]},
        many=[Inner(number=1), Inner()],
        by_name={"x": {"number": -1}, "y": Inner()},
        raw=b"\0\xff",
        numbers=[-1, 300],
    )


def test_what_is_written_is_read():
    message = full()
    again = Outer.FromString(message.SerializeToString())
    assert again == message == pickle.loads(pickle.dumps(message))
    assert str(again) == str(message)
    assert (again.count, again.ratio, list(again.small)) == (-3, 0.1, [1.5, 2.5])
    assert again.by_name["x"].number == -1


def test_the_text_form_has_a_line_for_each_field():
    message = Outer(ratio=0.5, by_name={"k": Inner(names=['a"\n\x01é'])}, flag=True, numbers=[1, 2])
    assert str(message).splitlines() == [
        "ratio: 0.5",
        "by_name {",
        '  key: "k"',
        "  value {",
        r'    names: "a\"\n\001\303\251"',
        "  }",
        "}",
        "flag: true",
        "numbers: 1",
        "numbers: 2",
    ]


def test_the_bytes_are_those_of_the_wire_format():
    assert Outer(count=150).SerializeToString() == b"\x08\x96\x01"
    assert Outer(count=-1).SerializeToString() == b"\x08" + b"\xff" * 9 + b"\x01"
    assert Outer(numbers=[1, 300]).SerializeToString() == b"\x4a\x03\x01\xac\x02"
    assert Outer(by_name={"k": Inner(number=1)}).SerializeToString() == b"\x32\x07\x0a\x01k\x12\x02\x08\x01"
    assert list(Outer.FromString(b"\x48\x01\x48\x02").numbers) == [1, 2]


def test_defaults_are_not_written_but_in_a_group():
    assert Outer(count=0, ratio=0.0).SerializeToString() == b""
    assert Outer(flag=False).SerializeToString() == b"\x38\x00"


def test_of_a_group_the_last_that_is_set_stays():
    message = Outer(flag=True)
    message.raw = b"x"
    assert message.WhichOneof("choice") == "raw"
    assert not message.HasField("flag")


def test_a_message_within_is_set_once_something_in_it_is():
    message = Outer()
    assert message.inner.number == 0
    assert not message.HasField("inner")
    message.inner.names.append("a")
    assert message.HasField("inner")
    assert Outer(inner={}).HasField("inner")


def test_unknown_fields_are_passed_over():
    assert Inner.FromString(b"\x7a\x01x\x08\x05").number == 5


@pytest.mark.parametrize("size", range(1, len(full().SerializeToString()), 7))
def test_bytes_that_end_early_are_data_loss_or_another_message(size):
    content = full().SerializeToString()[:size]
    with contextlib.suppress(tf.errors.DataLossError):
        assert Outer.FromString(content) != full()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"count": 2**31}, ValueError),
        ({"count": 1.5}, TypeError),
        ({"ratio": "x"}, TypeError),
        ({"inner": 3}, TypeError),
        ({"raw": "text"}, TypeError),
        ({"absent": 1}, ValueError),
    ],
)
def test_bad_values_name_the_field(fields, error):
    with pytest.raises(error, match=next(iter(fields))):
        Outer(**fields)
