"""`fit`, `evaluate` and `predict`: each step is one call of a traced function.

Arrays become tensors once. A batch of them is the numbers of its rows, and the traced function gathers them.
Batches of other sources are handed to the function as they are. With `steps_per_execution` one call makes
several steps on arrays by a loop of the graph. On batches of other sources each step is a call: to put them
in one tensor, or to have the graph ask for each, takes longer than calls.
"""

import contextlib
import itertools
import warnings

import numpy as np
from keras.src import callbacks as callbacks_module, optimizers as optimizers_module, tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import (
    ArrayDataAdapter,
    TFDatasetAdapter,
    array_slicing,
    data_adapter_utils,
)
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import is_default, pythonify_logs

import penstock as tf
from keras_penstock.src import replicas, steps
from keras_penstock.src.core import NO_VALUE, dense_tensor, name_scope
from keras_penstock.src.numpy import concatenate

_DENSE = (array_slicing.NumpySliceable, array_slicing.TensorflowSliceable)
# How many batches' row numbers become tensors at a time: between two steps the conversion would take longer.
_BATCHES_AHEAD = 64


class _Rows:
    """A batch of arrays that stay: the rows of `arrays` whose numbers are `index`, a vector."""

    def __init__(self, arrays, index):
        self.arrays = arrays
        self.index = index


def _resident(array):
    """The tensor of an array, which shares its memory where both lie on the CPU."""
    if isinstance(array, np.ndarray) and _makes_tensors_on_cpu():
        # Dtypes and arrays that cannot be shared are converted.
        with contextlib.suppress(BufferError):
            return tf.experimental.dlpack.from_dlpack(array)
    return tf.convert_to_tensor(array)


def _makes_tensors_on_cpu():
    """Say whether tensors lie on the CPU here; within `tf.device` larger ones may not."""
    return "device:CPU" in tf.zeros([64]).device


class _Batches(EpochIterator):
    """Gives what one execution needs: a list of batches, each a structure of tensors, or rows of arrays."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._arrays = self._sliceable = None
        if isinstance(self.data_adapter, ArrayDataAdapter):
            inputs = self.data_adapter._inputs
            if any(_is_sparse(array) for array in tree.flatten(inputs)):
                self._sliceable = array_slicing.convert_to_sliceable(inputs)
            else:
                parts = array_slicing.convert_to_sliceable(inputs, target_backend="numpy")
                if all(type(part) in _DENSE for part in tree.flatten(parts) if part is not None):
                    self._arrays = _map(lambda part: _resident(part.array), parts)

    def _get_iterator(self):
        if self._arrays is not None:
            return self._get_rows()
        if isinstance(self.data_adapter, TFDatasetAdapter):
            return self.data_adapter.get_tf_dataset()
        if self._sliceable is not None:
            return self.data_adapter._get_iterator(_rows_of, self._sliceable)
        return (_map(_as_sparse_tensor, batch) for batch in self.data_adapter.get_numpy_iterator())

    def _get_rows(self):
        numbers = np.arange(self.data_adapter._num_samples, dtype=np.int32)
        batches = self.data_adapter._get_iterator(lambda every, indices: every[indices], numbers)
        # Several steps stack the numbers of their batches.
        convert = tf.convert_to_tensor if self.steps_per_execution == 1 else np.asarray
        while ahead := [convert(rows) for rows in itertools.islice(batches, _BATCHES_AHEAD)]:
            for rows in ahead:
                yield _Rows(self._arrays, rows)

    def __next__(self):
        begin, end, iterator = next(self._epoch_iterator)
        batches = list(itertools.islice(iterator, self.steps_per_execution))
        if not batches:
            with self.catch_stop_iteration():
                raise StopIteration
            raise StopIteration
        return begin, end, batches

    def first_rows(self):
        """The first batch where looking at it takes nothing from the source, else None."""
        if self._arrays is None:
            return None
        size = min(self.data_adapter.batch_size, self.data_adapter._num_samples)
        return _map(lambda array: array[:size], self._arrays)


def _is_sparse(array):
    """Say whether an array is a sparse tensor, or a sparse matrix of SciPy or JAX."""
    return any(
        asks(array)
        for asks in (
            data_adapter_utils.is_tensorflow_sparse,
            data_adapter_utils.is_scipy_sparse,
            data_adapter_utils.is_jax_sparse,
        )
    )


def _rows_of(sliceable, indices):
    """Rows of an array: those of a sparse one as a sparse tensor."""
    rows = sliceable[indices]
    return _as_sparse_tensor(rows) if _is_sparse(rows) else sliceable.convert_to_numpy(rows)


def _as_sparse_tensor(array):
    """Make a sparse matrix of SciPy or JAX a sparse tensor; give anything else as it is."""
    if data_adapter_utils.is_scipy_sparse(array):
        return tf.sparse.reorder(data_adapter_utils.scipy_sparse_to_tf_sparse(array))
    if data_adapter_utils.is_jax_sparse(array):
        return tf.sparse.reorder(data_adapter_utils.jax_sparse_to_tf_sparse(array))
    return array


def _filled(targets):
    """Fill sparse targets up: losses and metrics compute with them by operators."""
    return _map(lambda y: dense_tensor(y) if isinstance(y, tf.SparseTensor) else y, targets)


def _map(function, structure):
    """Apply `function` to the leaves that are not None."""
    return tree.map_structure(lambda leaf: None if leaf is None else function(leaf), structure)


def _take(arrays, index):
    return _map(lambda array: tf.gather(array, index), arrays)


def _are_rows_alike(batches):
    """Say whether all batches are as many rows of arrays that stay."""
    return all(isinstance(batch, _Rows) for batch in batches) and len({len(b.index) for b in batches}) == 1


class _Callbacks(callbacks_module.CallbackList):
    """Callbacks that are told of a batch only where one of them does something then.

    Keras hands each batch to a thread for all of them, which takes longer than a step of a small model.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._heard = {}

    def _hear(self, *hooks):
        heard = self._heard.get(hooks)
        if heard is None:
            heard = self._heard[hooks] = any(
                not is_default(getattr(callback, hook)) for callback in self.callbacks for hook in hooks
            )
        return heard

    def on_train_batch_begin(self, batch, logs=None):
        if self._hear("on_train_batch_begin", "on_batch_begin"):
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        if self._hear("on_train_batch_end", "on_batch_end"):
            super().on_train_batch_end(batch, logs)

    def on_test_batch_begin(self, batch, logs=None):
        if self._hear("on_test_batch_begin"):
            super().on_test_batch_begin(batch, logs)

    def on_test_batch_end(self, batch, logs=None):
        if self._hear("on_test_batch_end"):
            super().on_test_batch_end(batch, logs)

    def on_predict_batch_begin(self, batch, logs=None):
        if self._hear("on_predict_batch_begin"):
            super().on_predict_batch_begin(batch, logs)

    def on_predict_batch_end(self, batch, logs=None):
        if self._hear("on_predict_batch_end"):
            super().on_predict_batch_end(batch, logs)


# Keras 3.16 has given the class another name.
_Base = getattr(base_trainer, "BaseTrainer", None) or base_trainer.Trainer


class Trainer(_Base):
    """The training of models of this backend."""

    def __init__(self):
        super().__init__()
        self.train_function = None
        self.test_function = None
        self.predict_function = None
        self.unrolled_steps_per_execution = 1
        # The replicas that train the model, where it is made in the scope of a strategy of several.
        self._replicas = replicas.of_scope()

    # --- steps, which users may replace ---

    def train_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self._predictions(x, training=True)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        if self.trainable_weights:
            weights = self.trainable_weights
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._predictions(x, training=False)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data):
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self._predictions(x, training=False)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        # Keras 3.16 asks for the shape of the targets before it makes tensors of them.
        if y is None and self._compile_loss is not None:
            raise ValueError(NO_VALUE)
        return super().compute_loss(x, _filled(y), y_pred, sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, _filled(y), y_pred, sample_weight)

    def _predictions(self, x, training):
        return self(x, training=training) if self._call_has_training_arg else self(x)

    # --- functions of several steps ---

    def _traced(self, function):
        if self.run_eagerly:
            return function
        return tf.function(function, autograph=False, reduce_retracing=True, jit_compile=self.jit_compile)

    def _make_function(self, step):
        """Give the function that makes one step on each of the batches, and returns the logs of the last."""
        name = step.__name__

        def of_rows(arrays, index):
            return step(_take(arrays, index))

        if self._replicas is not None:
            whole = step
            is_own = getattr(step, "__func__", None) not in (Trainer.train_step, Trainer.test_step)

            def step(batch):
                return self._replicas.run(self, whole, batch, is_own)

            def of_rows(arrays, index):
                return self._replicas.run(self, lambda rows: whole(_take(arrays, rows)), index, is_own)

            step.__name__ = name

        def of_many_rows(arrays, index):
            logs = of_rows(arrays, index[0])
            _, logs = tf.while_loop(
                lambda i, _: i < tf.shape(index)[0],
                lambda i, _: (i + 1, of_rows(arrays, index[i])),
                (1, _map(tf.convert_to_tensor, logs)),
            )
            return logs

        # Profiles and explanations show these names.
        of_rows.__name__, of_many_rows.__name__ = f"{name}_of_rows", f"{name}s_of_rows"
        one, one_of_rows, many_of_rows = map(self._traced, (step, of_rows, of_many_rows))

        def function(batches):
            batches = list(batches)
            if len(batches) > 1 and not self.run_eagerly and _are_rows_alike(batches):
                return many_of_rows(batches[0].arrays, np.stack([batch.index for batch in batches]))
            logs = None
            for batch in batches:
                logs = one_of_rows(batch.arrays, batch.index) if isinstance(batch, _Rows) else one(batch)
            if batches and logs is None:
                raise TypeError(
                    f"{name}() must return a dict of logs, such as metrics by their names, got None"
                )
            return logs

        def in_scope(batches):
            with self._replicas.scope():
                return function(batches)

        run = function if self._replicas is None else in_scope
        return steps.StepFunction(name, run, (one, one_of_rows, many_of_rows))

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = self._make_function(self.train_step)
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = self._make_function(self.test_step)
        return self.test_function

    def make_predict_function(self, force=False):
        """Make the function that gives the predictions for all of a list of batches."""
        if self.predict_function is None or force:

            def predict_step_of_rows(arrays, index):
                return self.predict_step(_take(arrays, index))

            one, one_of_rows = self._traced(self.predict_step), self._traced(predict_step_of_rows)

            def function(batches):
                outputs = [
                    one_of_rows(batch.arrays, batch.index) if isinstance(batch, _Rows) else one(batch)
                    for batch in batches
                ]
                return (
                    outputs[0]
                    if len(outputs) == 1
                    else tree.map_structure(lambda *y: concatenate(y, 0), *outputs)
                )

            self.predict_function = steps.StepFunction("predict_step", function, (one, one_of_rows))
        return self.predict_function

    # --- loops over epochs ---

    def _get_metrics_result_or_logs(self, logs):
        if self._replicas is not None:
            self._replicas.add_up(self.metrics)
        return super()._get_metrics_result_or_logs(logs)

    def _batches(
        self, x, y=None, sample_weight=None, batch_size=None, steps=None, shuffle=False, class_weight=None
    ):
        return _Batches(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self.steps_per_execution,
        )

    def _build_early(self, batches):
        """Make the variables before the first step is traced, where a batch can be looked at."""
        data = batches.first_rows()
        if data is not None and not self.run_eagerly:
            try:
                with contextlib.nullcontext() if self._replicas is None else self._replicas.scope():
                    self._build_optimizer()
                    self._symbolic_build(data_batch=data)
            except Exception:
                # Such a model is built when its first step is traced, which says what is wrong.
                return

    def _build_optimizer(self):
        """Make the optimizer's variables, with its name in theirs, where there are those of the model."""
        optimizer = self.optimizer
        if optimizer is not None and not optimizer.built and all(x.built for x in self._flatten_layers()):
            with name_scope(optimizer.name, caller=optimizer):
                optimizer.build(self.trainable_variables)

    def _callbacks(self, callbacks, batches, verbose, epochs=1, **kwargs):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return _Callbacks(
            callbacks,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=batches.num_batches,
            model=self,
            **kwargs,
        )

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        self._assert_compile_called("fit")
        max_epochs = config.max_epochs()
        if max_epochs and max_epochs < epochs:
            warnings.warn(f"Limiting epochs to {max_epochs}", stacklevel=2)
            epochs = max_epochs
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = self._batches(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight)
        self._build_early(batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose, epochs, add_history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        epoch_logs, logs = None, {}
        self._eval_epoch_iterator = None
        try:
            for epoch in range(self._initial_epoch or initial_epoch, epochs):
                self.reset_metrics()
                callbacks.on_epoch_begin(epoch)
                for begin, end, data in batches:
                    callbacks.on_train_batch_begin(begin)
                    logs = self.train_function(data)
                    callbacks.on_train_batch_end(end, logs)
                    if self.stop_training:
                        break
                epoch_logs = dict(self._get_metrics_result_or_logs(logs))
                if validation_data is not None and self._should_eval(epoch, validation_freq):
                    epoch_logs.update(
                        self._validate(
                            validation_data, validation_batch_size or batch_size, validation_steps, callbacks
                        )
                    )
                callbacks.on_epoch_end(epoch, epoch_logs)
                if self.stop_training:
                    break
            if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
                self.optimizer.finalize_variable_values(self.trainable_weights)
        finally:
            self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=epoch_logs)
        return self.history

    def _validate(self, validation_data, batch_size, steps, callbacks):
        """Evaluate within `fit`; the batches are made once for all epochs."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = self._batches(x, y, sample_weight, batch_size, steps)
        logs = self.evaluate(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps=steps,
            callbacks=callbacks,
            return_dict=True,
            _use_cached_eval_dataset=True,
        )
        return {f"val_{name}": value for name, value in logs.items()}

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        if cached:
            batches = self._eval_epoch_iterator
        else:
            batches = self._batches(x, y, sample_weight, batch_size, steps)
        self._build_early(batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = {}
        for begin, end, data in batches:
            callbacks.on_test_batch_begin(begin)
            logs = self.test_function(data)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        batches = self._batches(x, batch_size=batch_size, steps=steps)
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        outputs = []
        for begin, end, data in batches:
            callbacks.on_predict_batch_begin(begin)
            outputs.append(self.predict_function(data))
            callbacks.on_predict_batch_end(end, {"outputs": outputs[-1]})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(_joined, *outputs) if outputs else None

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        self.make_train_function()
        self.reset_metrics()
        return self._logs_of_batch(self.train_function([(x, y, sample_weight)]), return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        self.make_test_function()
        self.reset_metrics()
        return self._logs_of_batch(self.test_function([(x, y, sample_weight)]), return_dict)

    def _logs_of_batch(self, logs, return_dict):
        logs = pythonify_logs(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        self.make_predict_function()
        return tree.map_structure(
            lambda y: y if isinstance(y, tf.SparseTensor) else y.numpy(), self.predict_function([(x,)])
        )


def _batch_size(x):
    """The extent of the first axis of the inputs."""
    first = next(leaf for leaf in tree.flatten(x) if leaf is not None)
    return tf.shape(first)[0]


def _joined(*parts):
    """Put the predictions of all batches in one array, or a ragged tensor where their shapes differ."""
    if isinstance(parts[0], tf.SparseTensor):
        return concatenate(parts, 0)
    if len({part.shape[1:] for part in parts if part.shape.rank}) <= 1:
        arrays = [part.numpy() for part in parts]
        return np.stack(arrays) if arrays[0].ndim == 0 else np.concatenate(arrays)
    return tf.ragged.constant([row for part in parts for row in part.numpy().tolist()], dtype=parts[0].dtype)
