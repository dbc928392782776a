"""Messages with the library of protocol buffers: its readers and writers, and messages of its own."""

import sys

import pytest

import penstock as tf
from penstock._runtime import descriptors, messages, protos
from penstock._runtime.messages import Field, Message

pbtext = pytest.importorskip("google.protobuf.text_format")
json_format = pytest.importorskip("google.protobuf.json_format")
message_factory = pytest.importorskip("google.protobuf.message_factory")

TEXT = r"""
    features {
      feature {key: "colors" value {bytes_list {value: ["red", "blue"]} } }
      feature {key: "lengths" value {int64_list {value: [7, -1]} } }
      feature {key: "scale" value {float_list {value: 1.5} } } }"""


def example():
    def feature(**fields):
        return tf.train.Feature(**fields)

    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "colors": feature(bytes_list=tf.train.BytesList(value=[b"red", b"blue"])),
                "lengths": feature(int64_list=tf.train.Int64List(value=[7, -1])),
                "scale": feature(float_list=tf.train.FloatList(value=[1.5])),
            }
        )
    )


def test_a_text_is_merged_into_a_message():
    assert pbtext.Merge(TEXT, tf.train.Example()) == example()
    assert pbtext.Parse(pbtext.MessageToString(example()), tf.train.Example()) == example()
    with pytest.raises(pbtext.ParseError, match="nothing"):
        pbtext.Parse("features { nothing: 3 }", tf.train.Example())


def test_an_empty_message_within_counts_as_set_where_the_text_has_it():
    found = pbtext.Parse("features {}", tf.train.Example())
    assert found.HasField("features")
    assert not tf.train.Example().HasField("features")


def test_messages_are_written_as_json_and_read():
    found = json_format.MessageToDict(example())
    assert found["features"]["feature"]["lengths"] == {"int64List": {"value": ["7", "-1"]}}
    assert json_format.ParseDict(found, tf.train.Example()) == example()


def test_fields_that_are_set_are_listed_with_their_descriptors():
    ((field, value),) = example().ListFields()
    assert (field.name, field.number) == ("features", 1)
    assert value == example().features
    assert tf.train.Example.DESCRIPTOR.full_name == "tensorflow.Example"
    assert tf.train.Feature.DESCRIPTOR.oneofs[0].name == "kind"


def test_messages_of_the_library_with_the_same_descriptor_are_copied_and_merged():
    theirs = message_factory.GetMessageClass(tf.train.Int64List.DESCRIPTOR)(value=[1, 2])
    mine = tf.train.Int64List(value=[5])
    mine.MergeFrom(theirs)
    assert mine.value == [5, 1, 2]
    mine.CopyFrom(theirs)
    assert mine.value == [1, 2]
    with pytest.raises(TypeError, match="other_msg"):
        mine.CopyFrom(message_factory.GetMessageClass(tf.train.FloatList.DESCRIPTOR)(value=[1.0]))
    with pytest.raises(TypeError, match="other_msg"):
        mine.MergeFrom(tf.train.FloatList(value=[1.0]))


def test_every_message_of_the_package_has_a_descriptor_with_its_fields():
    classes = [c for c in vars(protos).values() if isinstance(c, type) and issubclass(c, Message)]
    for cls in classes:
        fields = cls.DESCRIPTOR.fields_by_name
        assert {name: f.number for name, f in fields.items()} == {n: f.number for n, f in cls.FIELDS.items()}


class _Graph(Message):
    """Of the name of another message, with maps of two kinds."""

    FIELDS = {
        "counts": Field(1, "int64", mapped=True),
        "features": Field(2, tf.train.Feature, mapped=True),
        "is_small": Field(3, "bool"),
    }


def test_maps_of_numbers_and_of_messages_are_read_and_written():
    made = _Graph(counts={"a": 1, "b": 2}, features={"x": example().features.feature["scale"]}, is_small=True)
    assert pbtext.Parse(pbtext.MessageToString(made), _Graph()) == made
    assert json_format.ParseDict(json_format.MessageToDict(made), _Graph()) == made


def test_without_the_library_fields_have_names_and_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    descriptors._pool.cache_clear()
    try:
        ((field, _),) = example().ListFields()
        assert field == messages.FieldName("features", 1)
        with pytest.raises(ImportError, match="pip install protobuf"):
            _ = tf.train.Example.DESCRIPTOR
    finally:
        descriptors._pool.cache_clear()
        descriptors._files.clear()
