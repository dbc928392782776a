"""Models that several replicas train: each computes its part of every batch, and all take the same steps."""

import contextlib
import itertools

from keras.src import tree

import penstock as tf


def _states(metrics):
    return [variable.value for metric in metrics for variable in metric.variables]


def of_scope():
    """Give the replicas of the strategy in whose scope a model is made; None where there is one."""
    strategy = tf.distribute.get_strategy()
    if strategy.num_replicas_in_sync == 1:
        return None
    return Processes(strategy) if getattr(strategy, "group", None) is not None else ReplicasHere(strategy)


def _rows(batch):
    """The number of rows of a batch."""
    return tf.shape(next(leaf for leaf in tree.flatten(batch) if leaf is not None))[0]


def _part(batch, rows):
    return tree.map_structure(lambda x: None if x is None else x[rows], batch)


@contextlib.contextmanager
def _applying(model, make):
    """Have the optimizer of a model apply gradients by what `make` makes of the method that does."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        yield
        return
    object.__setattr__(optimizer, "apply", make(optimizer.apply))
    try:
        yield
    finally:
        object.__delattr__(optimizer, "apply")


class ReplicasHere:
    """The replicas of one process, which take turns.

    Where an optimizer applies gradients, those of all replicas are added up, each weighted by its share of
    the rows, and the step is taken once. Replicas change metrics one after the other, as if each part were a
    batch.
    """

    def __init__(self, strategy):
        self._strategy = strategy

    def scope(self):
        """Make a context in which variables are those of all replicas."""
        return self._strategy.scope()

    def run(self, model, step, batch, is_own):
        """Call a step in each replica with its part of a batch; where there are fewer rows, once with all.

        Logs are those of the last replica, as metrics have seen all rows then; those of a step of the user's
        (`is_own`) are averaged.
        """
        size = self._strategy.num_replicas_in_sync
        count = _rows(batch)
        known = tf.get_static_value(count)
        if known is not None:
            return self._each(model, step, batch, int(known), is_own) if known >= size else step(batch)
        return tf.cond(
            count >= size,
            lambda: tree.map_structure(tf.convert_to_tensor, self._each(model, step, batch, count, is_own)),
            lambda: tree.map_structure(tf.convert_to_tensor, step(batch)),
        )

    def _each(self, model, step, batch, count, is_own):
        size = self._strategy.num_replicas_in_sync
        bounds = [number * count // size for number in range(size + 1)]
        shares = [
            tf.cast(end - start, "float32") / tf.cast(count, "float32")
            for start, end in itertools.pairwise(bounds)
        ]

        def combining(apply):
            def combined(grads, trainable_variables=None):
                context = tf.distribute.get_replica_context()
                share = shares[context.replica_id_in_sync_group]

                def once(strategy, of_all):
                    summed = [
                        None if g is None else strategy.extended.reduce_to("SUM", g, None) for g in of_all
                    ]
                    return apply(summed, trainable_variables)

                own = [None if g is None else g * tf.cast(share, g.dtype) for g in grads]
                return context.merge_call(once, args=(own,))

            return combined

        def one():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return step(_part(batch, slice(bounds[number], bounds[number + 1])))

        with _applying(model, combining):
            logs = self._strategy.experimental_local_results(self._strategy.run(one))
        if not is_own:
            return logs[-1]

        def mean(*values):
            tensors = [tf.convert_to_tensor(value) for value in values]
            if not tensors[0].dtype.is_floating:
                return tensors[-1]
            return tf.add_n([x * tf.cast(s, x.dtype) for x, s in zip(tensors, shares, strict=True)])

        return tree.map_structure(mean, *logs)

    def add_up(self, metrics):
        """Metrics have seen what all replicas have."""


class Processes:
    """The processes that train a model, as one of them sees it.

    A step sees the rows of its process. Where an optimizer applies gradients, also in a step of the user's,
    they are those of the whole batch: the sum of those of all processes, each weighted by its share of the
    rows. Floating point weights that are not trained, such as moving means, become the mean of those of all.
    """

    def __init__(self, strategy):
        self._strategy = strategy
        self._group = strategy.group

    def scope(self):
        """Make a context in which variables begin with the values of the first process."""
        return self._strategy.scope()

    def _own_rows(self, count):
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

    def run(self, model, step, batch, is_own):
        """Call a step with the part of a batch that is this process's."""
        count = _rows(batch)
        rows, share = self._own_rows(count)
        own = _part(batch, rows)
        with _applying(model, lambda apply: self._combining(model, apply, share)):
            # There may be more processes later.
            fixed = isinstance(self._group._now[1], int)
            if fixed and (tf.get_static_value(count) or 0) >= self._group.size:
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

    def _combining(self, model, apply, share):
        def combined(grads, trainable_variables=None):
            there = [g * tf.cast(share, g.dtype) for g in grads if g is not None]
            summed = iter(self._group.all_reduce(there))
            result = apply([None if g is None else next(summed) for g in grads], trainable_variables)
            self._average(model)
            return result

        return combined

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
