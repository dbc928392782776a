"""Tables: lookups in them, eagerly, in functions and in data sets, and what changes them."""

import copy
import threading

import numpy as np
import pytest

import penstock as tf

lookup = tf.lookup
WORDS = ["emerson", "lake", "palmer", ""]


def static(keys, values, default, **dtypes):
    return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values, **dtypes), default)


class TestStaticTables:
    def test_a_table_that_its_initializer_leaves_empty_is_refused(self):
        class Later(lookup.KeyValueTensorInitializer):
            key_dtype, value_dtype = tf.string, tf.int64

            def __init__(self):
                pass

            def initialize(self, table):
                pass

        table = lookup.StaticHashTable(Later(), -1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            table.lookup(tf.constant(["a"]))
        find = tf.function(table.lookup).get_concrete_function(tf.TensorSpec([None], tf.string))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Table not initialized"):
            find(tf.constant(["a"]))

    def test_a_table_without_keys_has_the_default_for_all(self):
        table = static(tf.constant([], tf.string), tf.constant([], tf.int64), -1)
        assert table.lookup(tf.constant(["a"])).numpy().tolist() == [-1]

    @pytest.mark.parametrize(
        ("keys", "other"),
        [(WORDS, "king"), ([5, -3, 2**40, 0], 7), ([0.5, -1.0, 3.0, 8.0], 0.25)],
    )
    @pytest.mark.parametrize("traced", [False, True])
    def test_keys_have_their_values_and_others_the_default(self, keys, other, traced):
        table = static(keys, np.arange(4), -1)
        function = tf.function(table.lookup) if traced else table.lookup
        wanted = tf.constant([[keys[2], other], [keys[0], keys[3]]], table.key_dtype)
        assert function(wanted).numpy().tolist() == [[2, -1], [0, 3]]

    def test_values_may_be_strings(self):
        table = static([3, 1], ["three", "one"], "many")
        assert table.lookup(tf.constant([1, 2, 3])).numpy().tolist() == [b"one", b"many", b"three"]

    def test_ragged_keys_keep_their_rows(self):
        table = static(WORDS, [0, 1, 2, 3], -1)
        assert table[tf.ragged.constant([["lake"], [], ["x", "palmer"]])].to_list() == [[1], [], [-1, 2]]

    def test_the_shape_is_known_in_a_trace(self):
        table = static(WORDS, [0, 1, 2, 3], -1)
        trace = tf.function(table.lookup).get_concrete_function(tf.TensorSpec([None, 3], tf.string))
        assert trace.output_shapes == tf.TensorShape([None, 3])

    def test_an_empty_table_gives_the_default(self):
        table = static([], [], 7, key_dtype=tf.string, value_dtype=tf.int64)
        assert table.lookup(tf.constant([["a"], ["b"]])).numpy().tolist() == [[7], [7]]
        assert int(table.size()) == 0

    def test_an_initializer_that_does_nothing_leaves_it_empty(self):
        class Null(lookup.KeyValueTensorInitializer):
            def __init__(self):
                pass

            key_dtype, value_dtype = tf.string, tf.int64

            def initialize(self, table):
                pass

        assert int(lookup.StaticHashTable(Null(), -1).size()) == 0

    def test_equal_pairs_are_one_and_different_values_of_a_key_an_error(self):
        assert int(static(["a", "a"], [1, 1], 0).size()) == 1
        with pytest.raises(tf.errors.FailedPreconditionError, match="different values"):
            static(["a", "a"], [1, 2], 0)

    def test_keys_of_another_dtype_are_an_error(self):
        with pytest.raises(TypeError, match="argument 'keys' must be of dtype string"):
            static(["a"], [1], 0).lookup(tf.constant([1]))

    def test_a_table_is_used_in_a_data_set(self):
        table = static(WORDS, [0, 1, 2, 3], -1)
        data = tf.data.Dataset.from_tensor_slices(["palmer", "x"]).map(table.lookup)
        assert list(data.as_numpy_iterator()) == [2, -1]

    def test_lines_of_a_file(self, tmp_path):
        path = tmp_path / "words"
        path.write_text("a\t10\nb\t20\n")
        index = lookup.TextFileIndex
        columns = lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1)
        assert lookup.StaticHashTable(columns, -1)[tf.constant(["b", "c"])].numpy().tolist() == [20, -1]
        numbers = lookup.TextFileInitializer(
            path, tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE, vocab_size=1
        )
        assert lookup.StaticHashTable(numbers, "")[tf.constant([0, 1], tf.int64)].numpy().tolist() == [
            b"a\t10",
            b"",
        ]
        with pytest.raises(ValueError, match="argument 'value_index' is 2"):
            lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 2)

    def test_other_keys_get_numbers_by_their_hash(self):
        pairs = lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
        table = lookup.StaticVocabularyTable(pairs, 3)
        known, first, second = table.lookup(tf.constant(["b", "x", "x"])).numpy().tolist()
        assert known == 1
        assert first == second
        assert 2 <= first < int(table.size()) == 5

    def test_other_keys_get_the_numbers_of_tensorflow(self):
        pairs = lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
        words = tf.constant(["a", "b", "c", "dd", "e"])
        assert lookup.StaticVocabularyTable(pairs, 5)[words].numpy().tolist() == [0, 1, 4, 3, 3]
        assert lookup.StaticVocabularyTable(None, 5)[words].numpy().tolist() == [4, 2, 2, 1, 1]
        numbers = tf.constant([5, 6], tf.int64)
        pairs = lookup.KeyValueTensorInitializer(numbers, tf.constant([0, 1], tf.int64))
        wanted = tf.constant([5, 6, 7, 8, -1, 123456789], tf.int64)
        assert lookup.StaticVocabularyTable(pairs, 7)[wanted].numpy().tolist() == [0, 1, 4, 6, 6, 5]
        table = lookup.StaticVocabularyTable(pairs, 7, lookup_key_dtype=tf.int32)
        assert table[tf.constant([5, 6, 7, 8])].numpy().tolist() == [0, 1, 4, 6]

    def test_a_file_with_fewer_lines_than_asked_for_is_an_error(self, tmp_path):
        path = tmp_path / "words"
        path.write_text("a\nb\n")
        index = lookup.TextFileIndex
        with pytest.raises(ValueError, match="argument 'vocab_size' is 3"):
            lookup.StaticHashTable(
                lookup.TextFileInitializer(
                    path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER, vocab_size=3
                ),
                -1,
            )


class TestMutableTables:
    def table(self, **options):
        return lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, **options)

    def test_values_are_inserted_replaced_and_removed(self):
        table = self.table()
        table.insert(tf.constant(["a", "b", "a"]), tf.constant([1, 2, 3], tf.int64))
        assert table.lookup(tf.constant([["a", "b"], ["c", "a"]])).numpy().tolist() == [[3, 2], [-1, 3]]
        table.insert(tf.constant(["b"]), tf.constant([5], tf.int64))
        table.remove(tf.constant(["a", "x", "x"]))
        assert dict(zip(*(t.numpy().tolist() for t in table.export()), strict=True)) == {b"b": 5}
        assert int(table.size()) == 1

    @pytest.mark.parametrize("values", [[1], [1, 2, 3], [[1], [2]]])
    def test_a_value_is_due_for_each_key(self, values):
        with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'values'"):
            self.table().insert(["a", "b"], values)

    def test_a_default_for_each_key(self):
        table = self.table()
        table.insert(tf.constant(["a"]), tf.constant([1], tf.int64))
        found = table.lookup(tf.constant(["a", "b"]), dynamic_default_values=tf.constant([7, 8], tf.int64))
        assert found.numpy().tolist() == [1, 8]

    def test_values_may_be_vectors(self):
        table = lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
        table.insert(tf.constant([4], tf.int64), [[1.0, 2.0]])
        assert table[tf.constant([4, 5], tf.int64)].numpy().tolist() == [[1.0, 2.0], [0.0, 0.0]]

    def test_a_function_counts_words(self):
        table = self.table()
        zero = tf.constant(0, tf.int64)

        @tf.function
        def count(words):
            word, _, n = tf.unique_with_counts(words, tf.int64)
            table.insert(word, n + tf.maximum(table.lookup(word), zero))

        count(tf.constant(["a", "b", "a"]))
        count(tf.constant(["a", "c"]))
        assert table.lookup(tf.constant(["a", "b", "c"])).numpy().tolist() == [3, 1, 1]

    def test_a_loop_inserts_in_the_order_of_the_program(self):
        table = lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0)

        @tf.function
        def chain(count):
            for i in tf.range(count):
                table.insert([i], table.lookup([i - 1]) + 1)
                if i == 3:
                    table.remove([i - 1])
            return table.size()

        assert int(chain(tf.constant(6, tf.int64))) == 5
        assert dict(zip(*(t.numpy().tolist() for t in table.export()), strict=True)) == {
            0: 1,
            1: 2,
            3: 4,
            4: 5,
            5: 6,
        }

    def test_what_was_read_stays_when_the_table_changes(self):
        table = self.table()
        table.insert(["a"], [1])
        keys, values = table.export()
        table.insert(["a", "b"], [2, 3])
        assert (keys.numpy().tolist(), values.numpy().tolist()) == ([b"a"], [1])

    def test_threads_that_insert_at_once_lose_nothing(self):
        table = lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)

        def insert(thread):
            for start in range(0, 200, 10):
                keys = thread * 200 + start + tf.range(10, dtype=tf.int64)
                table.insert(keys, keys * 7)

        threads = [threading.Thread(target=insert, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        everything = tf.range(16 * 200, dtype=tf.int64)
        assert int(table.size()) == 16 * 200
        assert (table.lookup(everything).numpy() == everything.numpy() * 7).all()

    def test_a_copy_is_a_table_of_its_own(self):
        table = self.table()
        table.insert(["a"], [1])
        twin = copy.deepcopy(table)
        twin.insert(["a", "b"], [2, 3])
        assert (int(table.size()), int(table["a"]), int(twin["a"])) == (1, 1, 2)

    @pytest.mark.parametrize(
        "dtype", [tf.int8, tf.uint16, tf.int32, tf.int64, tf.uint64, tf.float32, tf.float64, tf.string]
    )
    def test_keys_may_have_every_dtype_that_has_an_order(self, dtype):
        keys = tf.constant(["3", "5"]) if dtype == tf.string else tf.constant([3, 5], dtype)
        for value in (tf.bool, tf.bfloat16, tf.complex64, tf.string):
            zero, one = (tf.constant(["", "x"]) if value == tf.string else tf.cast([0, 1], value))[:2]
            table = lookup.experimental.MutableHashTable(dtype, value, zero)
            table.insert(keys[:1], [one])
            assert table.lookup(keys).numpy().tolist() == [one.numpy(), zero.numpy()]


def test_keys_of_sparse_tensors_are_looked_up():
    keys = tf.SparseTensor([[0, 1], [1, 0]], ["lake", "king"], [2, 2])
    pairs = lookup.KeyValueTensorInitializer(WORDS, tf.constant([0, 1, 2, 3], tf.int64))
    mutable = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    mutable.insert(["lake"], [1])
    for table in (static(WORDS, np.arange(4), -1), lookup.StaticVocabularyTable(pairs, 1), mutable):
        for find in (table.lookup, tf.function(table.lookup)):
            found = find(keys)
            assert isinstance(found, tf.SparseTensor)
            assert found.values.numpy().tolist() in ([1, -1], [1, 4])
            assert found.indices.numpy().tolist() == [[0, 1], [1, 0]]


class TestDenseTables:
    def test_keys_may_be_rows(self):
        table = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, [0, 0], [-1, -1])
        table.insert([[1, 2], [3, 4]], [12, 34])
        assert table.lookup([[[3, 4], [4, 3]]]).numpy().tolist() == [[34, -1]]
        table.erase([[1, 2]])
        keys, values = table.export()
        assert (keys.numpy().tolist(), values.numpy().tolist()) == ([[3, 4]], [34])

    def test_keys_may_be_strings(self):
        table = lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
        table.insert(["a", "b"], [1, 2])
        table.erase(["a"])
        assert table.lookup(["b", "a"]).numpy().tolist() == [2, -1]
        rows = lookup.experimental.DenseHashTable(tf.string, tf.string, "none", ["", ""], ["$", "$"])
        rows.insert([["a", "b"]], ["ab"])
        assert rows.lookup([["a", "b"], ["b", "a"]]).numpy().tolist() == [b"ab", b"none"]
        with pytest.raises(ValueError, match="'empty_key' and 'deleted_key' must differ"):
            lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "")

    def test_the_two_keys_must_differ(self):
        with pytest.raises(ValueError, match="'empty_key' and 'deleted_key' must differ"):
            lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, 0)
        with pytest.raises(ValueError, match="argument 'deleted_key' must be of shape"):
            lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, [1])

    @pytest.mark.parametrize("key", [0, -5])
    def test_the_keys_that_are_never_in_it_are_refused(self, key):
        table = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-5)
        keys = tf.constant([3, key], tf.int64)
        match = f"Using the {'empty' if key == 0 else 'deleted'}_key as a table key is not allowed"
        inserted = tf.function(lambda keys: table.insert(keys, keys))
        found = tf.function(lambda keys: table.lookup(keys))
        for call in (lambda k: table.insert(k, k), table.lookup, table.remove, inserted, found):
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                call(keys)
        assert int(table.size()) == 0
        table.insert(keys[:0], keys[:0])

    def test_rows_are_refused_as_a_whole(self):
        table = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, [0, 0], [-5, -5])
        table.insert(tf.constant([[0, 1], [-5, 0]], tf.int64), tf.constant([1, 2], tf.int64))
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
            table.insert(tf.constant([[0, 0]], tf.int64), tf.constant([1], tf.int64))


class Words(tf.Module):
    """A module with a table of each kind."""

    def __init__(self):
        super().__init__()
        pairs = lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
        self.static = lookup.StaticHashTable(pairs, -1)
        self.vocabulary = lookup.StaticVocabularyTable(pairs, 3)
        self.mutable = lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
        self.dense = lookup.experimental.DenseHashTable(tf.int64, tf.string, "none", [0, 0], [-1, -1])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def find(self, words):
        return self.static[words], self.vocabulary[words], self.mutable[words]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2])])
    def put(self, words, values):
        self.mutable.insert(words, values)
        return self.mutable.size()


def filled():
    module = Words()
    module.put(tf.constant(["a", "q"]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    module.dense.insert([[1, 2], [3, 4]], ["x", "yy"])
    return module


def values_of(module):
    words = tf.constant(["b", "q", "z"])
    return [t.numpy().tolist() for t in (*module.find(words), *module.dense.export())]


class TestSavedTables:
    def test_a_saved_module_has_its_tables_again(self, tmp_path):
        module = filled()
        tf.saved_model.save(module, tmp_path / "a")
        loaded = tf.saved_model.load(tmp_path / "a")
        assert values_of(loaded) == values_of(module)
        assert int(loaded.put(tf.constant(["n"]), tf.constant([[5.0, 6.0]]))) == 3
        assert loaded.mutable.lookup("n").numpy().tolist() == [5.0, 6.0]
        assert int(module.mutable.size()) == 2
        assert int(loaded.vocabulary.size()) == 5

    def test_saving_what_was_loaded_gives_the_same_bytes(self, tmp_path):
        tf.saved_model.save(filled(), tmp_path / "a")
        tf.saved_model.save(tf.saved_model.load(tmp_path / "a"), tmp_path / "b")
        first, second = (tmp_path / name / "saved_model.penstock" for name in "ab")
        assert first.read_bytes() == second.read_bytes()

    def test_checkpoints_hold_mutable_tables_under_the_names_of_tensorflow(self, tmp_path):
        module = filled()
        path = tf.train.Checkpoint(module=module).write(tmp_path / "ckpt")
        names = [name for name, _ in tf.train.list_variables(path)]
        assert names[1:] == [
            f"module/{table}/.ATTRIBUTES/table-{part}"
            for table in ("dense", "mutable")
            for part in ("keys", "values")
        ]
        fresh = Words()
        fresh.mutable.insert(["old"], [[9.0, 9.0]])
        tf.train.Checkpoint(module=fresh).restore(path).assert_consumed()
        assert values_of(fresh) == values_of(module)

    def test_unused_buckets_of_a_dense_table_are_left_out(self):
        table = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2)
        keys = tf.constant([[0], [5], [-2], [0], [7]], tf.int64)
        table._restore_state(keys, tf.constant([[1], [50], [2], [3], [70]], tf.int64))
        assert sorted(zip(*(t.numpy().tolist() for t in table.export()), strict=True)) == [(5, 50), (7, 70)]
