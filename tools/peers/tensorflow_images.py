"""Records what TensorFlow gives for the calls of `tests/python/image/cases.py`.

`python tools/peers/tensorflow_images.py`, with TensorFlow 2.21 installed.
"""

import runpy
from pathlib import Path

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parents[2] / "tests/python/image"


def main() -> None:
    """Writes the results."""
    cases = runpy.run_path(str(HERE / "cases.py"))["CASES"]
    np.savez_compressed(HERE / "tensorflow.npz", **{name: case(tf).numpy() for name, case in cases.items()})


if __name__ == "__main__":
    main()
