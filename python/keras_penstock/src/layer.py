"""What the layers of this backend have beyond Keras's own."""

from typing import Final

import penstock as tf

# The compiled steps of a trainer, which are no part of a model.
_STEPS: Final = ("train_function", "test_function", "predict_function")


class BackendLayer:
    """A layer as `tf.train.Checkpoint` and `tf.saved_model.save` see it."""

    def _trackable_children(self):
        """What it owns: its attributes, by the names that they have in checkpoints of Keras on TensorFlow."""
        return {name: value for name, value in vars(self).items() if name not in _STEPS}

    @property
    def _default_save_signature(self):
        """The function that servers call of a model that `tf.saved_model.save` writes.

        None for a layer, and for a model that has not been called, so that its inputs are not known.
        """
        from keras.src import tree  # layers are made while Keras is imported
        from keras.src.export.export_utils import get_input_signature
        from keras.src.models.model import Model

        if not isinstance(self, Model):
            return None
        try:
            signature = list(get_input_signature(self))
        except ValueError:
            return None
        # Without names, so that the argument has the function's, as in TensorFlow.
        specs = tree.map_structure(lambda spec: tf.TensorSpec(spec.shape, spec.dtype), signature)

        def serving_default(inputs):
            return self(inputs)

        def serving_several(*inputs):
            return self(*inputs)

        return tf.function(
            serving_default if len(specs) == 1 else serving_several, input_signature=specs, autograph=False
        )
