"""Whether functions of data sets run as Python code: `tf.data.experimental.enable_debug_mode`."""

__all__ = ["Mode"]


class Mode:
    """What holds for data sets that are made from now on.

    Attributes:
        debug: whether their functions run as Python code.
    """

    debug = False
