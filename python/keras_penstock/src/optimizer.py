"""What the optimizers of this backend have beyond Keras's own."""

from keras.src.optimizers import base_optimizer

import penstock as tf
from penstock._runtime import replicas


class BackendOptimizer(base_optimizer.BaseOptimizer):
    """An optimizer that adds the gradients of replicas up, within `Strategy.run`."""

    def _var_key(self, variable):
        """What a variable is known by, also where another object stands in for it in a trace."""
        held = getattr(variable, "handle", variable)
        return held._unique_id if isinstance(held, tf.Variable) else id(variable)

    def apply(self, grads, trainable_variables=None):
        take_step = replicas.take_step.get()
        if take_step is None:
            return super().apply(grads, trainable_variables)
        given = list(grads)

        def step(summed):
            of_all = iter(summed)
            return super(BackendOptimizer, self).apply(
                [None if g is None else next(of_all) for g in given], trainable_variables
            )

        return take_step([g for g in given if g is not None], step)
