"""`tf.experimental.StructuredTensor`: tensors of structures with fields."""

import copy
import pickle

import pytest

import penstock as tf

S = tf.experimental.StructuredTensor
RowPartition = tf.experimental.RowPartition
DynamicRaggedShape = tf.experimental.DynamicRaggedShape

PEOPLE = [
    {"age": 12, "names": [b"J"], "shoes": {"sizes": [8.0, 7.5]}},
    {"age": 82, "names": [b"B", b"BB"], "shoes": {"sizes": [11.0]}},
]
DOCS = [{"docs": [{"tokens": [1, 2]}, {"tokens": [3]}]}, {"docs": [{"tokens": [7]}]}]
NESTED = [[[{"a": 1}, {"a": 2}], [{"a": 3}]], [[{"a": 4}]]]


def splits(structure):
    return [partition.row_splits().numpy().tolist() for partition in structure.row_partitions]


@pytest.mark.parametrize(
    ("value", "shape", "partitions"),
    [
        (PEOPLE, [2], []),
        (PEOPLE[0], [], []),
        (DOCS, [2], []),
        (NESTED, [2, None, None], [[0, 2, 3], [0, 2, 3, 4]]),
        ({}, [], []),
        ([{}, {}], [2], []),
        ([[{}, {}], [], [{}]], [3, None], [[0, 2, 2, 3]]),
        ([[], [{"a": 1}]], [2, None], [[0, 0, 1]]),
    ],
)
def test_values_of_python_come_back_as_they_were(value, shape, partitions):
    made = S.from_pyval(value)
    assert made.to_pyval() == value
    assert made.shape.as_list() == shape
    assert made.rank == len(shape)
    assert splits(made) == partitions
    assert made.nrows() is None if not shape else int(made.nrows()) == len(value)
    again = S.from_pyval(value, tf.type_spec_from_value(made)) if value != [{}, {}] else made
    assert tf.nest.map_structure(type, again.to_pyval()) == tf.nest.map_structure(type, value)


def test_lists_without_structures_become_tensors():
    assert S.from_pyval([[1, 2], [3]]).to_list() == [[1, 2], [3]]
    assert S.from_pyval(3).numpy() == 3
    empty = S.from_pyval(
        [],
        tf.type_spec_from_value(S.from_pyval([{"a": 1}])).__class__(
            _fields={"a": tf.TensorSpec([None], tf.int32)},
            _ragged_shape=DynamicRaggedShape.Spec([], [None], tf.int64),
        ),
    )
    assert (empty.to_pyval(), empty.field_value("a").dtype) == ([], tf.int32)


@pytest.mark.parametrize(
    ("fields", "settings", "shape"),
    [
        ({"x": [1, 2], "y": tf.ragged.constant([[1], [2, 3]])}, {"shape": [2]}, [2]),
        ({"x": [[1, 2], [3, 4]]}, {"shape": [2, 2]}, [2, 2]),
        ({"x": [[1, 2], [3, 4]]}, {"shape": [None, None]}, [2, 2]),
        ({"x": tf.ragged.constant([[1], [2, 3]])}, {"shape": [None, None]}, [2, None]),
        ({}, {"shape": [3]}, [3]),
        ({}, {"shape": [None], "nrows": 2}, [2]),
        ({}, {"shape": [2, None], "row_partitions": [RowPartition.from_row_lengths([2, 1])]}, [2, None]),
        ({"x": 1, "y": [1, 2]}, {}, []),
    ],
)
def test_fields_have_a_shape_in_common(fields, settings, shape):
    made = S.from_fields(fields, **settings)
    assert made.shape.as_list() == shape
    assert made.field_names() == tuple(fields)
    if fields:
        assert S.from_fields_and_rank(fields, len(shape)).shape.as_list() == shape
    assert S.from_shape(made._ragged_shape).shape.as_list() == shape


def test_structures_are_indexed_by_places_and_names():
    people, nested = S.from_pyval(PEOPLE), S.from_pyval(NESTED)
    assert people[0].to_pyval() == PEOPLE[0]
    assert people[tf.constant(1)].to_pyval() == PEOPLE[1]
    assert people[1:].to_pyval() == PEOPLE[1:]
    assert people[:].to_pyval() == PEOPLE
    assert people[1, "names", 0].numpy() == b"B"
    assert people[:, "names", :1].to_list() == [[b"J"], [b"B"]]
    assert people[-1, "shoes", "sizes"].numpy().tolist() == [11.0]
    assert people[0]["age"].numpy() == 12
    assert nested[0].to_pyval() == NESTED[0]
    assert nested[:, :1].to_pyval() == [NESTED[0][:1], NESTED[1][:1]]
    assert nested[0, 1, 0, "a"].numpy() == 3
    assert S.from_pyval([[{}, {}], [{}]])[0].to_pyval() == [{}, {}]
    assert people.field_value(("shoes", "sizes")).to_list() == [[8.0, 7.5], [11.0]]


def test_fields_are_set_changed_and_removed():
    people = S.from_pyval(PEOPLE)
    found = people.with_updates(
        {"age": lambda age: age + 1, ("shoes", "sizes"): lambda s: s * 2, "names": None, "new": [[1], [2]]}
    )
    assert found.to_pyval() == [
        {"age": 13, "shoes": {"sizes": [16.0, 15.0]}, "new": [1]},
        {"age": 83, "shoes": {"sizes": [22.0]}, "new": [2]},
    ]
    assert people.to_pyval() == PEOPLE


def test_fields_are_promoted_over_the_dimensions_between():
    assert S.from_pyval(DOCS).promote(("docs", "tokens"), "all").field_value("all").to_list() == [
        [1, 2, 3],
        [7],
    ]
    deeper = S.from_pyval([DOCS]).promote(("docs", "tokens"), "all")
    assert deeper.field_value("all").to_list() == [[[1, 2, 3], [7]]]
    assert S.from_pyval(PEOPLE).promote(("shoes", "sizes"), "s").field_value("s").to_list() == [
        [8.0, 7.5],
        [11.0],
    ]


def test_dimensions_are_divided_and_joined():
    nested = S.from_pyval(NESTED)
    assert nested.merge_dims(0, 1).to_pyval() == [*NESTED[0], *NESTED[1]]
    assert nested.merge_dims(-2, -1).to_pyval() == [[{"a": 1}, {"a": 2}, {"a": 3}], [{"a": 4}]]
    assert nested.merge_dims(0, 2).to_pyval() == [{"a": i} for i in (1, 2, 3, 4)]
    rows = RowPartition.from_row_lengths([0, 2])
    assert nested.partition_outer_dimension(rows).to_pyval() == [[], NESTED]
    even = S.from_fields({"x": [1, 2, 3, 4], "y": [[1], [2], [3], [4]]}, [4])
    pairs = even.partition_outer_dimension(RowPartition.from_uniform_row_length(2, 4))
    assert (pairs.shape, pairs.field_value("y").shape) == ([2, 2], [2, 2, 1])
    assert pairs.merge_dims(0, 1).to_pyval() == even.to_pyval()


def test_functions_take_and_give_structures():
    traces = []

    @tf.function(
        input_signature=[
            S.Spec(
                _fields={
                    "x": tf.TensorSpec([None], tf.float32),
                    "y": tf.RaggedTensorSpec([None, None], tf.int32),
                },
                _ragged_shape=DynamicRaggedShape.Spec([], [None], tf.int64),
            )
        ]
    )
    def run(s):
        traces.append(s.shape)
        rows = RowPartition.from_row_lengths(tf.stack([s.nrows() - 1, 1]))
        return s.with_updates({"x": lambda x: x * 2.0}).partition_outer_dimension(rows), s[1:], s[0, "y"]

    for values in (
        [{"x": 1.0, "y": [1, 2]}, {"x": 2.0, "y": []}],
        [{"x": float(i), "y": [i]} for i in range(4)],
    ):
        parted, rest, first = run(S.from_pyval(values))
        doubled = [{**value, "x": 2 * value["x"]} for value in values]
        assert parted.to_pyval() == [doubled[:-1], doubled[-1:]]
        assert rest.to_pyval() == values[1:]
        assert first.numpy().tolist() == values[0]["y"]
    assert [shape.as_list() for shape in traces] == [[None]]


def test_rows_of_fields_are_checked_while_a_function_runs():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def paired(a, b):
        return S.from_fields({"a": a, "b": b}, [None], validate=True).field_value("b")

    assert paired([1.0, 2.0], [3.0, 4.0]).numpy().tolist() == [3.0, 4.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'b' has other rows"):
        paired([1.0, 2.0], [3.0])


def test_gradients_go_through_fields():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = S.from_fields({"x": x}, [2]).with_updates({"x": lambda v: v * v})
        y = tf.reduce_sum(made.field_value("x"))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


def test_data_sets_have_structures_for_rows_and_stack_them():
    rows = tf.data.Dataset.from_tensor_slices(S.from_pyval(PEOPLE))
    assert [row.to_pyval() for row in rows] == PEOPLE
    values = [{"a": i, "b": {"c": [float(i), 0.5]}} for i in range(5)]
    inner = S.from_fields({"c": [value["b"]["c"] for value in values]}, [5])
    made = tf.data.Dataset.from_tensor_slices(S.from_fields({"a": list(range(5)), "b": inner}, [5])).batch(2)
    assert [row.to_pyval() for row in made] == [values[:2], values[2:4], values[4:]]
    assert made.element_spec.shape.as_list() == [None]
    doubled = tf.map_fn(
        lambda row: row["a"] * 2, S.from_fields({"a": [1, 2]}, [2]), fn_output_signature=tf.int32
    )
    assert doubled.numpy().tolist() == [2, 4]


def test_structures_are_copied_and_pickled():
    people = S.from_pyval(PEOPLE)
    assert copy.copy(people).to_pyval() == PEOPLE
    assert pickle.loads(pickle.dumps(people)).to_pyval() == PEOPLE
    assert repr(people).startswith('<StructuredTensor(fields={\n    "age": <tf.Tensor')
    small = people.with_shape_dtype(tf.int32)
    assert (small.nrows().dtype, small.field_value("names").row_splits.dtype) == (tf.int32, tf.int32)


def people_with(updates):
    return S.from_pyval(PEOPLE).with_updates(updates)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: S.from_fields({"a": [1, 2], "b": [1]}, [None]), ValueError, "'b' has shape"),
        (lambda: S.from_fields({"a": 1}, [2]), ValueError, "'a' has shape"),
        (lambda: S.from_fields({}, [None]), ValueError, "'nrows' or 'row_partitions'"),
        (lambda: S.from_fields({"1a": 1}), ValueError, "begin with a letter"),
        (lambda: S.from_fields({1: 1}), TypeError, "strings for names"),
        (lambda: S.from_fields(3), TypeError, "must be a dict"),
        (lambda: S.from_fields({"a": object()}), TypeError, "'a' must be a tensor"),
        (lambda: S.from_fields({"a": 1}, nrows=1), ValueError, "'nrows'"),
        (lambda: S.from_fields({"a": 1}, None), ValueError, "known rank"),
        (lambda: S.from_fields_and_rank({}, 1), ValueError, "must have a field"),
        (lambda: S.from_fields_and_rank({"a": 1}, -1), ValueError, "'rank'"),
        (lambda: S({}, 3), TypeError, "'ragged_shape'"),
        (lambda: S.from_pyval([{"a": 1}, {"b": 2}]), ValueError, "without 'a'"),
        (lambda: S.from_pyval([{"a": 1}, [{"a": 2}]]), ValueError, "one depth"),
        (lambda: S.from_pyval([{"a": 1}, {"a": "x"}]), ValueError, "no tensor at"),
        (lambda: S.from_pyval({"a": 1}, tf.TensorSpec([])), ValueError, "specification at"),
        (lambda: S.from_pyval(PEOPLE)["age"], ValueError, "integers and slices"),
        (lambda: S.from_pyval(PEOPLE)[0, 0], ValueError, "name of a field"),
        (lambda: S.from_pyval(PEOPLE).field_value("no"), KeyError, "there are age, names, shoes"),
        (lambda: S.from_pyval(PEOPLE).field_value(("age", "x")), KeyError, "in a tensor"),
        (lambda: people_with({"no": None}), ValueError, "no field 'no'"),
        (lambda: people_with({"no": lambda x: x}), ValueError, "no field 'no'"),
        (lambda: people_with({("no", "x"): [1, 2]}), ValueError, "no field 'no'"),
        (lambda: people_with({("age", "x"): [1, 2]}), ValueError, "is no structure"),
        (lambda: people_with({"shoes": None, ("shoes", "sizes"): None}), ValueError, "one within it"),
        (lambda: people_with({"age": [1]}), ValueError, "'age' has shape"),
        (lambda: people_with({"": 1}), ValueError, "not empty"),
        (lambda: S.from_pyval(PEOPLE).promote(("shoes",), "s"), ValueError, "'source_path'"),
        (lambda: S.from_pyval(PEOPLE).promote(("shoes", "sizes"), 3), ValueError, "'new_name'"),
        (lambda: S.from_pyval(PEOPLE).merge_dims(0, 1), ValueError, "'inner_axis'"),
        (lambda: S.from_pyval(NESTED).merge_dims(1, 1), ValueError, "'outer_axis'"),
        (lambda: S.from_pyval(PEOPLE).partition_outer_dimension(3), TypeError, "'row_partition'"),
        (
            lambda: S.from_pyval({}).partition_outer_dimension(RowPartition.from_row_lengths([1])),
            ValueError,
            "no dimension",
        ),
        (
            lambda: S.from_fields(
                {"a": tf.ragged.constant([[1], [2, 3]]), "b": tf.ragged.constant([[1, 2], [3]])}, [2, None]
            ),
            ValueError,
            "other rows",
        ),
        (lambda: tf.function(lambda s: s.to_pyval())(S.from_pyval({"a": 1})), ValueError, "traced function"),
    ],
)
def test_what_is_no_structure_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
