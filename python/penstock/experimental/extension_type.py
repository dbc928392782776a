"""Functions of extension types."""

from typing import Any

from penstock._types.argument_names import expect
from penstock._values.extension_type import ExtensionType

__all__ = ["as_dict"]


def as_dict(value: ExtensionType) -> dict[str, Any]:
    """List the fields of an extension type's value, with what they hold; nested values stay as they are.

    Args:
        value: a value of an extension type.

    Returns:
        A dict of the fields, in their order.

    Raises:
        TypeError: for anything else.

    >>> import penstock as tf
    >>> class Point(tf.experimental.ExtensionType):
    ...     x: tf.Tensor
    ...     label: str = "none"
    >>> tf.experimental.extension_type.as_dict(Point([1, 2]))["label"]
    'none'
    """
    given: Any = expect(value, ExtensionType, "value", "a value of an extension type")
    return {name: getattr(given, name) for name in type(given)._penstock_fields}
