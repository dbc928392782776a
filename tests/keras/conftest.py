"""Chooses the backend before a test imports Keras, and keeps its settings out of the home folder."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "penstock"
os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-home-"))

import pytest

import penstock  # noqa: F401  (installs the hook)

pytest.importorskip("keras")
