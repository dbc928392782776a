"""What the optimizers of this backend have beyond Keras's own."""

from keras.src.optimizers import base_optimizer

import penstock as tf
from keras_penstock.src.core import dense_tensor
from keras_penstock.src.sparse import distinct, has_known_rows, is_mostly_filled
from penstock._runtime import replicas


class BackendOptimizer(base_optimizer.BaseOptimizer):
    """An optimizer that adds the gradients of replicas up, within `Strategy.run`."""

    def _var_key(self, variable):
        """What a variable is known by, also where another object stands in for it in a trace."""
        held = getattr(variable, "handle", variable)
        return held._unique_id if isinstance(held, tf.Variable) else id(variable)

    def assign(self, variable, value):
        if not isinstance(value, tf.IndexedSlices):
            return super().assign(variable, value)
        # Of what comes twice only one would stay.
        return self._write("update", variable, distinct(value))

    def assign_add(self, variable, value):
        if not isinstance(value, tf.IndexedSlices):
            return super().assign_add(variable, value)
        return self._write("add", variable, value)

    def assign_sub(self, variable, value):
        if not isinstance(value, tf.IndexedSlices):
            return super().assign_sub(variable, value)
        return self._write("sub", variable, value)

    def _write(self, how, variable, slices):
        """Change the rows of a variable that slices have."""
        held = getattr(variable, "handle", variable)
        getattr(held, f"scatter_{how}")(tf.cast(slices, held.dtype))

    def apply(self, grads, trainable_variables=None):
        given = [dense_tensor(g) if self._takes_all_rows_of(g) else g for g in grads]
        take_step = replicas.take_step.get()
        if take_step is None:
            return super().apply(given, trainable_variables)

        def step(summed):
            of_all = iter(summed)
            return super(BackendOptimizer, self).apply(
                [None if g is None else next(of_all) for g in given], trainable_variables
            )

        return take_step([g for g in given if g is not None], step)

    def _takes_all_rows_of(self, gradient):
        """Say whether a step takes less time with all rows of a gradient than with its slices."""
        if not isinstance(gradient, tf.IndexedSlices):
            return False
        if self._changes_all_rows():
            return not has_known_rows(gradient)
        return is_mostly_filled(gradient, False)

    def _changes_all_rows(self):
        """Say whether this is an optimizer of Keras that changes values where a gradient is zero."""
        kind = type(self)
        if not kind.__module__.startswith("keras.src.optimizers."):
            return False
        return kind.__name__ != "Adagrad" and not (kind.__name__ == "SGD" and not self.momentum)
