"""Models of ONNX."""

from penstock._runtime.public_names import publish as _publish
from penstock._saving.onnx_export import save as save, to_bytes as to_bytes
from penstock._saving.onnx_model import Model as Model, load as load

__all__ = ["Model", "load", "save", "to_bytes"]

_publish(__name__)
