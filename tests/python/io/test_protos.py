"""Fields of messages of protocol buffers, beside what the library of protocol buffers and TensorFlow gave."""

import base64
import collections
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

RECORDED = json.loads((Path(__file__).parent / "files" / "proto_messages.json").read_text())
DESCRIPTORS = base64.b64decode(RECORDED["descriptors"])
SOURCE = b"bytes://" + DESCRIPTORS

# The natural dtype of each type of field, and the default that "p.M" declares in its fields "…_d".
TYPES = {
    "double": (tf.float64, 1.5),
    "float": (tf.float32, 2.5),
    "int64": (tf.int64, -3),
    "uint64": (tf.uint64, 2**64 - 1),
    "int32": (tf.int32, -4),
    "fixed64": (tf.uint64, 5),
    "fixed32": (tf.uint32, 6),
    "bool": (tf.bool, True),
    "string": (tf.string, b"str"),
    "bytes": (tf.string, b"by\x01t"),
    "uint32": (tf.uint32, 2**32 - 1),
    "enum": (tf.int32, 5),
    "sfixed32": (tf.int32, -7),
    "sfixed64": (tf.int64, -8),
    "sint32": (tf.int32, -9),
    "sint64": (tf.int64, -10),
    "message": (tf.string, b""),
}
THIRD = {
    "i": tf.int32,
    "s": tf.string,
    "r": tf.int32,
    "b": tf.string,
    "o": tf.int32,
    "u": tf.uint32,
    "uu": tf.uint64,
}
# The numbers of fields of "p.M".
INT32_O, INT32_R, INT32_K, STRING_O, FIXED32_K, MESSAGE_O, GROUP, EXTENSION = (
    17,
    19,
    20,
    33,
    28,
    36,
    500,
    1000,
)


def decoded(message, fields, message_type="p.M", **settings):
    """The values of the first message, without what fills up."""
    settings.setdefault("descriptor_source", SOURCE)
    sizes, values = tf.io.decode_proto(
        [message], message_type, list(fields), list(fields.values()), **settings
    )
    return [v.numpy()[0, :n].tolist() for v, n in zip(values, sizes.numpy()[0], strict=True)]


def dtype_of(message_type, field):
    return THIRD[field] if message_type == "q.M3" else TYPES[field.rpartition("_")[0]][0]


def tag(number, wire):
    value, found = number << 3 | wire, b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def plain(value, dtype):
    if dtype == tf.string:
        return base64.b64decode(value)
    return float.fromhex(value) if dtype.is_floating else value


@pytest.mark.parametrize("message_type", ["p.M", "q.M3"])
def test_random_messages_are_those_of_the_library(message_type):
    recorded = [
        (base64.b64decode(m), fields) for kind, m, fields in RECORDED["messages"] if kind == message_type
    ]
    names = sorted({name for _, fields in recorded for name in fields})
    dtypes = [dtype_of(message_type, name) for name in names]
    content = [message for message, _ in recorded]
    sizes, values = tf.io.decode_proto(content, message_type, names, dtypes, SOURCE)
    for row, (_, fields) in enumerate(recorded):
        for i, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
            found = values[i].numpy()[row, : sizes.numpy()[row, i]].tolist()
            assert found == [plain(value, dtype) for value in fields.get(name, [])], name
    if message_type == "q.M3":
        assert tf.io.encode_proto(sizes, values, names, message_type, SOURCE).numpy().tolist() == content
    else:
        again = tf.io.encode_proto(sizes, values, names, message_type, SOURCE)
        back = tf.io.decode_proto(again, message_type, names, dtypes, SOURCE)
        np.testing.assert_array_equal(back.sizes, sizes)
        for ours, theirs in zip(back.values, values, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", TYPES)
def test_absent_fields_have_size_0_and_their_default(kind):
    dtype, default = TYPES[kind]
    fields = [f"{kind}_o", f"{kind}_r"] if kind == "message" else [f"{kind}_o", f"{kind}_r", f"{kind}_d"]
    sizes, values = tf.io.decode_proto([b"", b""], "p.M", fields, [dtype] * len(fields), SOURCE)
    assert sizes.numpy().tolist() == [[0] * len(fields)] * 2
    zero = 2 if kind == "enum" else b"" if dtype == tf.string else 0
    expected = [zero, zero, default][: len(fields)]
    assert [v.numpy().tolist() for v in values] == [[[value]] * 2 for value in expected]
    assert all(v.dtype == dtype for v in values)


def test_the_type_of_a_result_is_a_named_tuple():
    found = tf.io.decode_proto(b"", "p.M", ["int32_o"], [tf.int32], SOURCE)
    assert (found.sizes.shape, found.values[0].shape) == ([1], [1])
    found = tf.io.decode_proto([[b""], [b""]], "p.M", ["int32_o"], [tf.int32], SOURCE)
    assert (found.sizes.shape, found.values[0].shape) == ([2, 1, 1], [2, 1, 1])
    none = tf.io.decode_proto(tf.zeros([0], tf.string), "p.M", ["int32_o"], [tf.int32], SOURCE)
    assert (none.sizes.shape, none.values[0].shape) == ([0, 1], [0, 1])
    assert tf.io.decode_proto([b""], "p.M", [], [], SOURCE).sizes.shape == [1, 0]


def test_fields_of_proto3_that_are_written_count():
    fields = {"i": tf.int32, "s": tf.string, "o": tf.int32}
    assert decoded(b"\x08\x00\x12\x00\x28\x00", fields, "q.M3") == [[0], [b""], [0]]
    # Anew, without the defaults of fields that do not know whether they are set.
    assert decoded(b"\x08\x00\x12\x00\x28\x00", fields, "q.M3", sanitize=True) == [[], [], [0]]


def test_unsigned_integers_are_read_as_signed_ones_of_the_same_bits():
    message = (
        tag(13, 0) + b"\xff" * 9 + b"\x01" + tag(41, 0) + b"\xff\xff\xff\xff\x0f" + tag(25, 5) + b"\xff" * 4
    )
    assert decoded(message, {"uint64_o": tf.int64, "uint32_o": tf.int32, "fixed32_o": tf.int32}) == [[-1]] * 3
    assert decoded(message, {"uint64_o": tf.uint64, "uint32_o": tf.int64}) == [[2**64 - 1], [2**32 - 1]]
    _, values = tf.io.decode_proto([b""], "p.M", ["uint64_d", "uint32_d"], [tf.int64, tf.int32], SOURCE)
    assert [v.numpy().item() for v in values] == [-1, -1]


def test_of_several_values_of_a_field_the_last_one_counts():
    assert decoded(tag(INT32_O, 0) + b"\x01" + tag(INT32_O, 0) + b"\x07", {"int32_o": tf.int32}) == [[7]]


def test_packed_and_unpacked_values_mix():
    packed, single = tag(INT32_R, 2) + b"\x03\x01\x02\x03", tag(INT32_R, 0) + b"\x09"
    assert decoded(packed + single, {"int32_r": tf.int32}) == [[1, 2, 3, 9]]
    packed, single = tag(INT32_K, 2) + b"\x01\x04", tag(INT32_K, 0) + b"\x03"
    assert decoded(single + packed, {"int32_k": tf.int64}) == [[3, 4]]


def test_fields_of_another_type_on_the_wire_are_passed_over():
    assert decoded(
        tag(INT32_O, 5) + b"abcd" + tag(STRING_O, 0) + b"\x02", {"int32_o": tf.int32, "string_o": tf.string}
    ) == [[], []]
    assert decoded(tag(STRING_O, 2) + b"\x02\xff\xfe", {"string_o": tf.string}) == [[b"\xff\xfe"]]


def test_parts_of_a_message_are_merged_where_messages_are_sanitized():
    message = tag(MESSAGE_O, 2) + b"\x02\x08\x01" + tag(MESSAGE_O, 2) + b"\x03\x12\x01a"
    assert decoded(message, {"message_o": tf.string}) == [[b"\x12\x01a"]]
    assert decoded(message, {"message_o": tf.string}, sanitize=True) == [[b"\x08\x01\x12\x01a"]]
    unknown = tag(999, 0) + b"\x01"
    assert decoded(unknown + message, {"message_o": tf.string}, sanitize=True) == [[b"\x08\x01\x12\x01a"]]


def test_groups_are_read_and_written_with_their_tags():
    group = tag(GROUP, 3) + b"\x08\x03" + tag(GROUP, 4)
    nested = tag(7, 3) + tag(8, 3) + tag(8, 4) + tag(7, 4)
    assert decoded(nested + group + group, {"grp": tf.string}) == [[group, group]]
    for written in (group, b"\x08\x03"):
        assert tf.io.encode_proto([[1]], [[[written]]], ["grp"], "p.M", SOURCE).numpy().tolist() == [group]
    assert decoded(group, {"grp": tf.string}, sanitize=True) == [[group]]


def test_extensions_have_the_name_of_their_package():
    assert decoded(tag(EXTENSION, 0) + b"\x05", {"p.ext": tf.int32}) == [[5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'field_names'.*'p.M' has no field 'ext'"):
        decoded(b"", {"ext": tf.int32})


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x08",
        b"garbage!!!",
        b"\x00\x00",
        tag(STRING_O, 2) + b"\x05ab",
        tag(FIXED32_K, 2) + b"\x05abcde",
        tag(INT32_O, 0) + b"\xff" * 10 + b"\x01",
        tag(25, 5) + b"ab",
        tag(INT32_K, 2) + b"\x01\xff",
        tag(GROUP, 3) + b"\x08\x03",
        tag(GROUP, 3) + tag(7, 4),
        tag(GROUP, 3) * 5000,
    ],
)
def test_damaged_messages_are_a_loss_of_data(damaged):
    fields = {"int32_o": tf.int32, "string_o": tf.string, "fixed32_k": tf.uint32, "int32_k": tf.int32}
    for sanitize in (False, True):
        with pytest.raises(tf.errors.DataLossError, match=r"'bytes' has what is no message 'p\.M'"):
            decoded(damaged, fields, sanitize=sanitize)


def test_deep_messages_are_refused_where_they_are_written_anew():
    content = b""
    for _ in range(200):
        content = b"\x0a" + bytes(_varint(len(content))) + content
    tree = descriptor_of_a_tree()
    fields = {"child": tf.string}
    assert len(decoded(content, fields, "Tree", descriptor_source=tree)[0]) == 1
    with pytest.raises(tf.errors.DataLossError, match="too deeply"):
        decoded(content, fields, "Tree", descriptor_source=tree, sanitize=True)


def _varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return [*found, value]


def framed(number, content):
    return bytes([number << 3 | 2, *_varint(len(content))]) + content


def descriptor_of_a_tree():
    """A message with an optional message of its own type, which is named without its package."""
    field = framed(1, b"child") + b"\x18\x01\x20\x01\x28\x0b" + framed(6, b"Tree")
    return b"bytes://" + framed(
        1, framed(1, b"tree.proto") + framed(4, framed(1, b"Tree") + framed(2, field))
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"message_type": "p.Nope"}, "'message_type': there is no 'p.Nope'"),
        ({"field_names": ["nope"]}, "'field_names': 'p.M' has no field 'nope'"),
        ({"output_types": [tf.int32, tf.int32]}, "'output_types' must have a dtype for each"),
        (
            {"output_types": [tf.string]},
            "'output_types': field 'int32_o' of type int32 is read as int32 or int64",
        ),
        ({"message_format": "json"}, "'message_format' must be 'binary' or 'text'"),
        ({"descriptor_source": "/nowhere/at/all"}, "'descriptor_source' must have a FileDescriptorSet"),
        ({"descriptor_source": "bytes://zzzz"}, "'descriptor_source' must have a FileDescriptorSet"),
        ({"descriptor_source": "local://"}, "'message_type': there is no 'p.M'"),
    ],
)
def test_what_is_not_described_is_refused(settings, message):
    given = {"message_type": "p.M", "field_names": ["int32_o"], "output_types": [tf.int32]}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.decode_proto([b""], **{**given, "descriptor_source": SOURCE, **settings})
    with pytest.raises(TypeError, match="'field_names' must be a list"):
        tf.io.decode_proto([b""], "p.M", "int32_o", [tf.int32], SOURCE)


def test_descriptors_come_from_files(tmp_path):
    file = tmp_path / "all.binpb"
    file.write_bytes(DESCRIPTORS)
    message = tag(INT32_O, 0) + b"\x05"
    assert decoded(message, {"int32_o": tf.int32}, descriptor_source=str(file)) == [[5]]
    assert tf.io.encode_proto([[1]], [[[5]]], ["int32_o"], "p.M", str(file)).numpy().tolist() == [message]


def test_messages_of_the_package_are_known_without_descriptors():
    example = tf.train.Example(
        features={"feature": {"age": tf.train.Feature(int64_list=tf.train.Int64List(value=[42, 43]))}}
    ).SerializeToString()

    def inner(messages, kind, field, dtype=tf.string):
        return tf.io.decode_proto(messages, f"tensorflow.{kind}", [field], [dtype]).values[0][:, 0]

    entry = inner(inner([example], "Example", "features"), "Features", "feature")
    assert inner(entry, "Features.FeatureEntry", "key").numpy().tolist() == [b"age"]
    feature = inner(entry, "Features.FeatureEntry", "value")
    numbers = inner(feature, "Feature", "int64_list")
    assert tf.io.decode_proto(numbers, "tensorflow.Int64List", ["value"], ["int64"])[1][
        0
    ].numpy().tolist() == [[42, 43]]
    value = tf.io.decode_proto(
        [b"\x15\x00\x00\x80?"], "tensorflow.Summary.Value", ["simple_value"], [tf.float32], ""
    )
    assert value.values[0].numpy().tolist() == [[1.0]]


def test_types_of_the_library_are_found_where_it_is_loaded():
    pytest.importorskip("google.protobuf.any_pb2")
    fields = {"type_url": tf.string, "value": tf.string}
    assert decoded(b"\x0a\x01a\x12\x01b", fields, "google.protobuf.Any", descriptor_source="local://") == [
        [b"a"],
        [b"b"],
    ]


def test_text_is_read_by_the_library():
    pytest.importorskip("google.protobuf.text_format")
    fields = {"int32_o": tf.int32, "int32_r": tf.int32}
    assert decoded("int32_o: 5 int32_r: [1, 2]", fields, message_format="text") == [[5], [1, 2]]
    with pytest.raises(tf.errors.DataLossError, match="'bytes' has what is no message"):
        decoded("int32_o: xx", fields, message_format="text")


def test_text_without_the_library_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"'message_format' may be 'text' where .*protobuf"
    ):
        decoded("", {"int32_o": tf.int32}, message_format="text")


def test_the_library_is_not_loaded():
    code = (
        "import sys, penstock as tf\n"
        "tf.io.decode_proto([b''], 'tensorflow.Int64List', ['value'], [tf.int64])\n"
        "assert not any(name.startswith('google') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- writing ---


@pytest.mark.parametrize(
    ("sizes", "values", "names", "expected"),
    [
        ([1, 2], [[5], [1, 2]], ["int32_o", "int32_r"], b"\x88\x01\x05\x98\x01\x01\x98\x01\x02"),
        ([2, 1], [[1, 2], [5]], ["int32_r", "int32_o"], b"\x88\x01\x05\x98\x01\x01\x98\x01\x02"),
        ([1, 2], [[5], [1, 2, 3]], ["int32_o", "int32_k"], b"\x88\x01\x05\xa2\x01\x02\x01\x02"),
        ([0, 3], [[5], [1, 2, 3]], ["int32_o", "int32_k"], b"\xa2\x01\x03\x01\x02\x03"),
        ([2], [[5, 6]], ["int32_o"], b"\x88\x01\x05\x88\x01\x06"),
        ([0], [[5, 6]], ["int32_k"], b""),
        ([2], [[b"\x08\x01", b"zz"]], ["message_r"], b"\xaa\x02\x02\x08\x01\xaa\x02\x02zz"),
        ([1], [[b"\xff"]], ["string_o"], b"\x8a\x02\x01\xff"),
        (
            [3, 3],
            [[True, False, True], [7, 8, 9]],
            ["bool_k", "sint32_r"],
            b"\x82\x02\x03\x01\x00\x01\xd8\x03\x0e\xd8\x03\x10\xd8\x03\x12",
        ),
        ([1], [[-1]], ["enum_o"], b"\xe8\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ([1], [np.array([2**40])], ["int32_o"], b"\x88\x01\x00"),
        ([1], [np.array([-5])], ["uint32_o"], b"\xc8\x02\xfb\xff\xff\xff\x0f"),
    ],
)
def test_fields_are_written_as_tensorflow_writes_them(sizes, values, names, expected):
    found = tf.io.encode_proto([sizes], [tf.expand_dims(v, 0) for v in values], names, "p.M", SOURCE)
    assert found.numpy().tolist() == [expected]
    # One message without a batch, and none.
    assert tf.io.encode_proto(sizes, values, names, "p.M", SOURCE).numpy() == expected
    none = tf.io.encode_proto(
        np.zeros([0, len(names)], np.int32), [tf.expand_dims(v, 0)[:0] for v in values], names, "p.M", SOURCE
    )
    assert none.shape == [0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": [[4]]}, "'sizes' has 4 for field 'int32_r', of which there are 1 values"),
        ({"sizes": [[-1]]}, "'sizes' has -1"),
        ({"sizes": [[1, 1]]}, "'sizes' must have the shape of 'values' with 1 in place"),
        ({"values": [[[5], [6]]]}, "'sizes' must have the shape of 'values'"),
        ({"values": [[[5]], [[5]]]}, "'values' must be a list with a tensor for each"),
        ({"values": [5]}, "'values': field 'int32_r' must have a dimension"),
        (
            {"values": [tf.constant([["a"]])]},
            "'values': field 'int32_r' of type int32 takes int32 or int64, got string",
        ),
        ({"field_names": ["nope"]}, "'field_names'"),
        ({"message_type": "p.Nope"}, "'message_type'"),
    ],
)
def test_what_cannot_be_written_is_refused(settings, message):
    given = {"sizes": [[1]], "values": [[[5]]], "field_names": ["int32_r"], "message_type": "p.M"}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.encode_proto(**{**given, "descriptor_source": SOURCE, **settings})


# --- in graphs ---


def test_both_work_in_functions_of_any_batch():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def both(messages):
        sizes, values = tf.io.decode_proto(messages, "p.M", ["int32_r"], [tf.int32], SOURCE)
        return tf.io.encode_proto(sizes, [v + 1 for v in values], ["int32_r"], "p.M", SOURCE)

    message, next_one = tag(INT32_R, 0) + b"\x01", tag(INT32_R, 0) + b"\x02"
    assert both([message, b""]).numpy().tolist() == [next_one, b""]
    assert both(message).numpy() == next_one
    with pytest.raises(tf.errors.DataLossError, match="'bytes'"):
        both([b"\x08"])


def test_shapes_are_known_as_far_as_those_of_the_messages_are():
    found = collections.deque(maxlen=1)

    @tf.function
    def shapes(messages):
        sizes, values = tf.io.decode_proto(messages, "p.M", ["int32_o", "int32_r"], [tf.int32] * 2, SOURCE)
        found.append(
            (
                sizes.shape,
                values[0].shape,
                tf.io.encode_proto(sizes, values, ["int32_o", "int32_r"], "p.M", SOURCE).shape,
            )
        )

    for given, expected in [([None], ([None, 2], [None, None], [None])), ([3], ([3, 2], [3, None], [3]))]:
        shapes.get_concrete_function(tf.TensorSpec(given, tf.string))
        assert [shape.as_list() for shape in found[0]] == list(expected)
