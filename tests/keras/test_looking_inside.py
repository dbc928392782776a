"""What profiles, pages of graphs, errors and explanations tell of models of Keras."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest

import penstock as tf

HERE = str(Path(__file__))


class Scale(keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],))

    def call(self, x):
        return tf.sort(x) * self.w


def _fitted(*layers, loss="mse", **options):
    model = keras.Sequential([keras.Input([4]), *layers, keras.layers.Dense(1)])
    model.compile("sgd", loss, **options)
    x = np.ones([64, 4], "float32")
    model.fit(x, x[:, :1], batch_size=16, verbose=0)
    return model, x


def _files(lines):
    return {line.rpartition(":")[0] for line in lines}


def test_lines_of_a_profile_are_the_program_s():
    model, x = _fitted(Scale())
    with tf.profiler.record() as recording:
        model.fit(x, x[:, :1], batch_size=16, verbose=0)
        model.predict(x, verbose=0)
    assert _files(row.key for row in recording.rows("line")) == {HERE}
    functions = {row.key for row in recording.rows("function")}
    assert "call" in functions
    assert any(re.fullmatch(r"sequential\w*/dense\w*", name) for name in functions), functions


def test_lines_of_a_graph_are_the_program_s():
    trace = _fitted(Scale())[0].train_function.get_concrete_function()
    assert {file for file, _ in trace._lines()} == {HERE}
    page = trace.to_html()
    assert "return tf.sort(x) * self.w" in page
    assert "/keras/src/" not in page
    assert "/keras_penstock/" not in page


def test_errors_of_a_graph_name_the_line_of_the_program():
    model = keras.Sequential([keras.Input([1], dtype="int32"), keras.layers.Embedding(3, 2)])
    model.compile(run_eagerly=False)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        model.predict(np.array([[7]]), verbose=0)
    assert HERE in str(error.value)
    assert "/keras/src/" not in str(error.value)
    assert "/keras_penstock/" not in str(error.value)


def test_layers_that_are_made_in_each_call_are_refused_with_their_line():
    class Making(keras.Model):
        def call(self, x):
            return keras.layers.Dense(1)(x)

    model = Making()
    model.compile("sgd", "mse")
    x = np.ones([64, 4], "float32")
    with pytest.raises(ValueError, match="created on the first call") as error:
        model.fit(x, x[:, :1], verbose=0)
    assert f'File "{HERE}"' in str(error.value)
    assert "in call" in str(error.value)


def test_errors_of_layers_show_tensors_as_tensorflow_does():
    with pytest.raises(ValueError, match=r"inputs=tf\.Tensor\(shape=\(2, 3\), dtype=float32\)"):
        keras.layers.Reshape([5])(tf.ones([2, 3]))


@pytest.mark.parametrize("name", ["train_function", "test_function", "predict_function"])
def test_the_functions_of_a_model_say_why_they_were_traced(name):
    model, x = _fitted()
    model.evaluate(x, x[:, :1], batch_size=16, verbose=0)
    model.predict(x, batch_size=16, verbose=0)
    found = getattr(model, name).explain_cache()
    assert found.calls == sum(trace.hits for trace in found.traces)
    assert len(found.misses) == len(found.traces) == 1
    assert "_of_rows" in found.traces[0].signature
    assert HERE in found.misses[0].location
    assert "<!DOCTYPE html>" in found.to_html()
    assert found._repr_html_() == getattr(model, name)._repr_html_()


def test_a_batch_of_another_size_is_the_reason_of_a_trace():
    model, x = _fitted()
    model.fit(x[:24], x[:24, :1], batch_size=16, verbose=0)
    text = str(model.train_function.explain_cache())
    assert "index.shape[0]: 16 → 8" in text


def test_a_model_that_was_not_traced_says_so():
    model, _ = _fitted(run_eagerly=True)
    assert model.train_function.explain_cache().traces == ()
    with pytest.raises(tf.errors.FailedPreconditionError, match="train_step has not been traced"):
        model.train_function.get_concrete_function()


def test_steps_of_several_batches_are_explained_together():
    model, x = _fitted(steps_per_execution=2)
    assert "train_steps_of_rows" in str(model.train_function.explain_cache())
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(16)
    model.fit(data, verbose=0)
    names = [trace.signature.partition("(")[0] for trace in model.train_function.explain_cache().traces]
    assert set(names) == {"train_step", "train_steps_of_rows"}
