"""Models that several processes train: each computes its part of every batch, and all take the same steps."""

import contextlib

from keras.src import tree

import penstock as tf


def _states(metrics):
    return [variable.value for metric in metrics for variable in metric.variables]


class Replicas:
    """The processes that train a model, as one of them sees it.

    A step sees the rows of its process. Where an optimizer applies gradients, also in a step of the user's,
    they are those of the whole batch: the sum of those of all processes, each weighted by its share of the
    rows. Floating point weights that are not trained, such as moving means, become the mean of those of all.
    """

    def __init__(self, strategy):
        self._strategy = strategy
        self._group = strategy.group

    @classmethod
    def of_scope(cls):
        """Give those of the strategy in whose scope a model is made; None where there is one process."""
        strategy = tf.distribute.get_strategy()
        return cls(strategy) if strategy.num_replicas_in_sync > 1 else None

    def scope(self):
        """Make a context in which variables begin with the values of the first process."""
        return self._strategy.scope()

    def _part(self, count):
        """The rows of this process, of `count` ones, and its share in them.

        Where there are fewer rows than processes, one without rows takes the last row, and it counts for
        nothing.
        """
        rank, size = self._group._now
        count = tf.convert_to_tensor(count)
        start, end = rank * count // size, (rank + 1) * count // size
        share = tf.cast(end - start, tf.float32) / tf.cast(count, tf.float32)
        start = tf.minimum(start, count - 1)
        return slice(start, tf.maximum(end, start + 1)), share

    def run(self, model, step, batch):
        """Call a step with the part of a batch that is this process's."""
        first = next(leaf for leaf in tree.flatten(batch) if leaf is not None)
        rows, share = self._part(tf.shape(first)[0])
        own = tree.map_structure(lambda x: None if x is None else x[rows], batch)
        with self._applying(model, share):
            # There may be more processes later.
            fixed = isinstance(self._group._now[1], int)
            if fixed and (tf.get_static_value(tf.shape(first)[0]) or 0) >= self._group.size:
                return step(own)
            return self._uncounted(model, share, lambda: step(own))

    def _uncounted(self, model, share, step):
        """Make a step whose rows count in no metric where this process has none."""
        before = {id(state): state.value() for state in _states(model.metrics)}
        result = step()
        for state in _states(model.metrics):
            # What the step has made began with zeros.
            old = before.get(id(state), tf.zeros_like(state))
            state.assign(tf.where(share > 0, state, old))
        return result

    @contextlib.contextmanager
    def _applying(self, model, share):
        optimizer = getattr(model, "optimizer", None)
        if optimizer is None:
            yield
            return
        apply = optimizer.apply

        def combined(grads, trainable_variables=None):
            there = [g * tf.cast(share, g.dtype) for g in grads if g is not None]
            summed = iter(self._group.all_reduce(there))
            result = apply([None if g is None else next(summed) for g in grads], trainable_variables)
            self._average(model)
            return result

        object.__setattr__(optimizer, "apply", combined)
        try:
            yield
        finally:
            object.__delattr__(optimizer, "apply")

    def _average(self, model):
        found = [weight.value for weight in model.non_trainable_weights if weight.value.dtype.is_floating]
        means = self._group.all_reduce([variable.value() for variable in found], "mean")
        for variable, mean in zip(found, means, strict=True):
            variable.assign(mean)

    def add_up(self, metrics):
        """Have each process know what the metrics of all have seen: totals and counts add up."""
        states = _states(metrics)
        totals = self._group.all_reduce([state.value() for state in states])
        for state, total in zip(states, totals, strict=True):
            state.assign(total)
