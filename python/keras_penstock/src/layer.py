"""What the layers of this backend have beyond Keras's own."""


class BackendLayer:
    """A layer as `tf.train.Checkpoint` sees it."""

    def _trackable_children(self):
        """What it owns: its attributes, by the names that they have in checkpoints of Keras on TensorFlow."""
        return vars(self)
