"""Batchable extension types: stacked and taken apart by data sets and `tf.map_fn`, as their encoder says."""

import numpy as np
import pytest

import penstock as tf


class Network(tf.experimental.BatchableExtensionType):
    """Work and bandwidth of nodes; in front of their own dimensions those of the batch."""

    shape: tf.TensorShape
    work: tf.Tensor
    bandwidth: tf.Tensor

    def __init__(self, work, bandwidth):
        self.work = tf.convert_to_tensor(work)
        self.bandwidth = tf.convert_to_tensor(bandwidth)
        self.shape = self.work.shape[:-1].merge_with(self.bandwidth.shape[:-2])


class Row(tf.experimental.BatchableExtensionType):
    words: tf.RaggedTensor
    marks: tf.SparseTensor
    count: tf.Tensor
    tag: str = "row"


class Holder(tf.experimental.BatchableExtensionType):
    number: tf.Tensor
    network: Network


class Plain(tf.experimental.ExtensionType):
    x: tf.Tensor


def networks(n=2):
    return Network(tf.ones([n, 3]), tf.ones([n, 3, 3]))


def rows():
    words = tf.ragged.constant([[1], [2, 3], []])
    return Row(words, tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]]), [1, 2, 3])


def test_slices_of_a_value_are_values():
    ds = tf.data.Dataset.from_tensor_slices(networks())
    assert ds.element_spec == Network.Spec([], tf.TensorSpec([3]), tf.TensorSpec([3, 3]))
    assert [(n.shape, n.work.shape) for n in ds] == [([], [3])] * 2


def test_batches_are_values_and_unbatch_takes_them_apart():
    ds = tf.data.Dataset.from_tensor_slices(networks(5)).batch(2)
    assert ds.element_spec == Network.Spec([None], tf.TensorSpec([None, 3]), tf.TensorSpec([None, 3, 3]))
    assert [n.work.shape for n in ds] == [[2, 3], [2, 3], [1, 3]]
    assert [n.shape for n in ds.unbatch()] == [[]] * 5
    assert ds.unbatch().batch(5, drop_remainder=True).element_spec.shape == [5]


def test_functions_of_data_sets_take_and_give_values():
    ds = tf.data.Dataset.from_tensor_slices(networks()).map(lambda n: Network(n.work * 2, n.bandwidth))
    assert [n.work.numpy().tolist() for n in ds] == [[2, 2, 2]] * 2
    assert [n.work.shape for n in ds.shuffle(2, seed=1).batch(2).prefetch(1)] == [[2, 3]]


def test_ragged_and_sparse_fields_stay_what_they_are_in_batches():
    ds = tf.data.Dataset.from_tensor_slices(rows())
    assert [(r.words.numpy().tolist(), r.tag) for r in ds] == [([1], "row"), ([2, 3], "row"), ([], "row")]
    for batched in (ds.batch(3), ds.batch(2).unbatch().batch(3)):
        (row,) = batched
        assert row.words.to_list() == [[1], [2, 3], []]
        assert tf.sparse.to_dense(row.marks).numpy().tolist() == [[0, 1], [2, 0], [0, 0]]
        assert row.count.numpy().tolist() == [1, 2, 3]


def test_values_in_fields_of_others_are_stacked_too():
    ds = tf.data.Dataset.from_tensor_slices(Holder([1, 2], networks()))
    assert [(int(h.number), h.network.shape) for h in ds] == [(1, []), (2, [])]
    (both,) = ds.batch(2)
    assert (both.number.numpy().tolist(), both.network.shape) == ([1, 2], [2])


def test_map_fn_takes_and_gives_values():
    out = tf.map_fn(lambda n: Network(n.work + 1, n.bandwidth), networks())
    assert (out.shape, out.work.numpy().tolist()) == ([2], [[2, 2, 2]] * 2)
    assert tf.map_fn(lambda r: r.count * 2, rows(), fn_output_signature=tf.int32).numpy().tolist() == [
        2,
        4,
        6,
    ]
    spec = Network.Spec([], tf.TensorSpec([3]), tf.TensorSpec([3, 3]))
    made = tf.map_fn(
        lambda x: Network(tf.fill([3], x), tf.ones([3, 3])), tf.constant([1.0, 2.0]), fn_output_signature=spec
    )
    assert made.work.numpy()[:, 0].tolist() == [1, 2]


def test_map_fn_in_a_traced_function_knows_the_number_of_rows_only_when_it_runs():
    @tf.function
    def doubled(n):
        return tf.map_fn(lambda one: Network(one.work * 2, one.bandwidth), n)

    spec = Network.Spec([None], tf.TensorSpec([None, 3]), tf.TensorSpec([None, 3, 3]))
    concrete = doubled.get_concrete_function(spec)
    for n in (0, 1, 4):
        assert concrete(networks(n)).work.numpy().tolist() == [[2, 2, 2]] * n


def test_map_fn_of_no_rows_gives_a_value_without_rows():
    out = tf.map_fn(lambda n: Network(n.work * 2, n.bandwidth), networks(0))
    assert (out.shape, out.work.shape, out.bandwidth.shape) == ([0], [0, 3], [0, 3, 3])


def test_map_fn_refuses_a_result_that_the_signature_does_not_describe():
    with pytest.raises(TypeError, match="fn_output_signature"):
        tf.map_fn(lambda n: Network(n.work[:2], n.bandwidth[:2, :2]), networks())


class Scaled(tf.experimental.BatchableExtensionType):
    """Whole numbers, each a multiple of `step`; stacked as how many steps each is."""

    class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
        def batch(self, spec, batch_size):
            return Scaled.Spec(tf.TensorSpec([batch_size, *spec.values.shape], tf.int32), spec.step)

        def unbatch(self, spec):
            return Scaled.Spec(tf.TensorSpec(spec.values.shape[1:], tf.int32), spec.step)

        def encode(self, spec, value, minimum_rank=0):
            return {"steps": value.values // value.step}

        def decode(self, spec, encoded_value):
            return Scaled(encoded_value["steps"] * spec.step, spec.step)

        def encoding_specs(self, spec):
            return {"steps": spec.values}

    __batch_encoder__ = Encoder()

    values: tf.Tensor
    step: int


def test_an_encoder_of_one_s_own_says_what_is_stacked():
    value = Scaled([[10, 20], [30, 47]], 10)
    ds = tf.data.Dataset.from_tensor_slices(value)
    assert [s.values.numpy().tolist() for s in ds] == [[10, 20], [30, 40]]
    assert [s.values.numpy().tolist() for s in ds.batch(2)] == [[[10, 20], [30, 40]]]
    assert tf.map_fn(lambda s: s, value).values.numpy().tolist() == [[10, 20], [30, 40]]


def test_the_default_encoder_describes_batches_and_rows():
    encoder = tf.experimental.ExtensionTypeBatchEncoder()
    spec = tf.type_spec_from_value(rows())
    assert encoder.batch(spec, 2).words.shape == [2, 3, None]
    assert encoder.unbatch(spec).marks == tf.SparseTensorSpec([2], tf.int32)
    assert encoder.batch(spec, None).tag == "row"
    assert encoder.encoding_specs(spec) == (spec.words, spec.marks, spec.count)
    parts = encoder.encode(spec, rows())
    assert encoder.decode(spec, parts).count.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tf.data.Dataset.from_tensor_slices(Plain([1, 2])), TypeError, "have rows"),
        (lambda: tf.data.Dataset.from_tensors(Plain([1, 2])).batch(2), TypeError, "cannot be stacked"),
        (
            lambda: tf.data.Dataset.from_tensor_slices(Network(tf.ones([3]), tf.ones([3, 3]))),
            ValueError,
            "no rows",
        ),
        (lambda: tf.experimental.BatchableExtensionType(), TypeError, "subclassed"),
        (lambda: tf.map_fn(lambda x: x, Plain([1, 2])), TypeError, "Plain"),
    ],
)
def test_what_cannot_be_stacked_or_has_no_rows_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_shape_in_a_field_covers_others():
    broad = Network.Spec([None], tf.TensorSpec([None, 3]), tf.TensorSpec([None, 3, 3]))
    spec = tf.type_spec_from_value(networks(2))
    assert spec.is_subtype_of(broad)
    assert not broad.is_subtype_of(spec)
    assert broad.is_compatible_with(networks(7))
    assert spec.most_specific_common_supertype([tf.type_spec_from_value(networks(3))]) == broad
    f = tf.function(lambda n: tf.reduce_sum(n.work), input_signature=[broad])
    assert [float(f(networks(n))) for n in (1, 4)] == [3, 12]
    assert f.experimental_get_tracing_count() == 1
    g = tf.function(lambda n: tf.reduce_sum(n.work), reduce_retracing=True)
    assert [float(g(networks(n))) for n in range(1, 5)] == [3, 6, 9, 12]
    assert g.experimental_get_tracing_count() == 2


def test_as_dict_lists_the_fields_of_the_value_alone():
    found = tf.experimental.extension_type.as_dict(Holder([1, 2], networks()))
    assert list(found) == ["number", "network"]
    assert isinstance(found["network"], Network)
    with pytest.raises(TypeError, match="value"):
        tf.experimental.extension_type.as_dict(np.zeros(2))
