"""What the layers of this backend have beyond Keras's own."""


class BackendLayer:
    """Adds nothing: a layer's variables are known by its attributes."""
