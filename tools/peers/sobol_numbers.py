"""Writes the numbers that Sobol's sequence begins with: `python tools/peers/sobol_numbers.py`.

Run it with SciPy installed, which has those of Joe and Kuo (2008). `python/penstock/_ops/sobol.bin` gets, for
each dimension with a polynomial of degree 13 or less, the polynomial and as many numbers as its degree.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import scipy.stats

TARGET = Path(__file__).resolve().parents[2] / "python/penstock/_ops/sobol.bin"
DEGREE = 13


def main() -> None:
    """Writes the file."""
    numbers = np.load(Path(scipy.stats.__file__).with_name("_sobol_direction_numbers.npz"))
    content = b""
    for polynomial, first in zip(numbers["poly"].tolist(), numbers["vinit"].tolist(), strict=True):
        degree = polynomial.bit_length() - 1
        if degree > DEGREE:
            break
        content += struct.pack(f"<{degree + 1}H", polynomial, *first[:degree])
    TARGET.write_bytes(content)


if __name__ == "__main__":
    main()
