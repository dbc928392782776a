"""Programs saved to directories, and loaded from them without their Python code."""

from penstock._runtime.public_names import publish as _publish
from penstock._saving.assets import Asset as Asset, LoadOptions as LoadOptions, SaveOptions as SaveOptions
from penstock._saving.load import contains_saved_model as contains_saved_model, load as load
from penstock._saving.save import DEFAULT_SIGNATURE, save as save

__all__ = [
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "SERVING",
    "TRAINING",
    "Asset",
    "LoadOptions",
    "SaveOptions",
    "contains_saved_model",
    "load",
    "save",
]

DEFAULT_SERVING_SIGNATURE_DEF_KEY = DEFAULT_SIGNATURE
SERVING, TRAINING = "serve", "train"
PREDICT_INPUTS, PREDICT_OUTPUTS, PREDICT_METHOD_NAME = "inputs", "outputs", "tensorflow/serving/predict"

_publish(__name__)
