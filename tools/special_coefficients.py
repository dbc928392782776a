"""Writes `python/penstock/_ops/special_tables.py`: Chebyshev coefficients of special functions.

    python tools/special_coefficients.py

A table approximates a function of `t` on an interval. Its coefficients are those of the polynomial that takes
the function's values at the Chebyshev points of the interval, computed with 50 digits; as many are kept as
are above 2**-56 of the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp

mp.mp.dps = 50
TARGET = Path(__file__).resolve().parent.parent / "python/penstock/_ops/special_tables.py"
POINTS = 64
SMALL = mp.mpf(2) ** -56


def coefficients(function: Callable[[Any], Any], low: Any, high: Any) -> list[Any]:
    """The coefficients of the polynomial through the function's values at the Chebyshev points."""
    low, high = mp.mpf(low), mp.mpf(high)
    angles = [mp.pi * (k + mp.mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(j * angle) for v, angle in zip(values, angles, strict=True)) / POINTS
        for j in range(POINTS)
    ]
    found[0] /= 2
    largest = max(map(abs, found))
    while len(found) > 1 and abs(found[-1]) < SMALL * largest:
        found.pop()
    if len(found) > POINTS - 8:
        raise ValueError("the function is not smooth enough on the interval")
    return found


def hankel(order: int, x: Any) -> Any:
    """`P + iQ` of the expansion of the Hankel function far from 0."""
    phase = x - mp.pi * (2 * order + 1) / 4
    return mp.hankel1(order, x) * mp.sqrt(mp.pi * x / 2) * mp.exp(-1j * phase)


def hankel_part(order: int, take: Callable[[Any, Any], Any], t: Any) -> Any:
    """One of the two parts, at `x = 1 / sqrt(t)`."""
    root = mp.sqrt(t)
    return take(hankel(order, 1 / root), root)


def fresnel_parts(x: Any) -> tuple[Any, Any]:
    """The auxiliary functions `f` and `g` of the Fresnel integrals."""
    c, s, angle = mp.fresnelc(x), mp.fresnels(x), mp.pi * x * x / 2
    half = mp.mpf(1) / 2
    return (
        (half - s) * mp.cos(angle) - (half - c) * mp.sin(angle),
        (half - c) * mp.cos(angle) + (half - s) * mp.sin(angle),
    )


def entire(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of `t` that is entire, also where its formula divides by 0."""
    return lambda t: function(t if t != 0 else mp.mpf(10) ** -40)


def inverse(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of `x = 1 / t`."""
    return lambda t: function(1 / t)


def i_near(order: int) -> Callable[[Any], Any]:
    """The modified Bessel function of the first kind without its exponential and its zero."""
    return lambda x: mp.exp(-x) * mp.besseli(order, x) / x**order


def i_far(order: int) -> Callable[[Any], Any]:
    """The same where it falls like a root."""
    return inverse(lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x))


def k_far(order: int) -> Callable[[Any], Any]:
    """The modified Bessel function of the second kind without its exponential and its root."""
    return inverse(lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x))


def ei_scaled(x: Any) -> Any:
    """The exponential integral without its exponential and its pole."""
    return x * mp.exp(-x) * mp.ei(x)


EXPINT_EDGES = (4, 8, 16, 32, 64)

# Each table: its name, the function of `t`, and the interval of `t`.
TABLES: list[tuple[str, Callable[[Any], Any], Any, Any]] = [
    ("I0E_NEAR", entire(i_near(0)), 0, 8),
    ("I0E_FAR", i_far(0), 0, mp.mpf(1) / 8),
    ("I1E_NEAR", entire(i_near(1)), 0, 8),
    ("I1E_FAR", i_far(1), 0, mp.mpf(1) / 8),
    (
        "K0_NEAR",
        lambda t: mp.besselk(0, mp.sqrt(t)) + mp.log(mp.sqrt(t) / 2) * mp.besseli(0, mp.sqrt(t)),
        0,
        4,
    ),
    (
        "K1_NEAR",
        lambda t: (
            mp.sqrt(t) * (mp.besselk(1, mp.sqrt(t)) - mp.log(mp.sqrt(t) / 2) * mp.besseli(1, mp.sqrt(t)))
        ),
        0,
        4,
    ),
    ("K0_MIDDLE", k_far(0), mp.mpf(1) / 8, mp.mpf(1) / 2),
    ("K1_MIDDLE", k_far(1), mp.mpf(1) / 8, mp.mpf(1) / 2),
    ("K0_FAR", k_far(0), 0, mp.mpf(1) / 8),
    ("K1_FAR", k_far(1), 0, mp.mpf(1) / 8),
    ("J0_NEAR", lambda t: mp.besselj(0, mp.sqrt(t)), 0, 64),
    ("J1_NEAR", entire(lambda t: mp.besselj(1, mp.sqrt(t)) / mp.sqrt(t)), 0, 64),
    (
        "Y0_NEAR",
        lambda t: mp.bessely(0, mp.sqrt(t)) - 2 / mp.pi * mp.log(mp.sqrt(t) / 2) * mp.besselj(0, mp.sqrt(t)),
        0,
        64,
    ),
    (
        "Y1_NEAR",
        lambda t: (
            (
                mp.bessely(1, mp.sqrt(t))
                - 2 / mp.pi * (mp.log(mp.sqrt(t) / 2) * mp.besselj(1, mp.sqrt(t)) - 1 / mp.sqrt(t))
            )
            / mp.sqrt(t)
        ),
        0,
        64,
    ),
    *(
        (
            f"{part}{order}_FAR",
            partial(hankel_part, order, take),
            0,
            mp.mpf(1) / 64,
        )
        for order in (0, 1)
        for part, take in (("P", lambda h, s: mp.re(h)), ("Q", lambda h, s: mp.im(h) / s))
    ),
    (
        "DAWSN_NEAR",
        entire(lambda t: mp.sqrt(mp.pi) / 2 * mp.exp(-t) * mp.erfi(mp.sqrt(t)) / mp.sqrt(t)),
        0,
        6,
    ),
    (
        "DAWSN_MIDDLE",
        lambda t: mp.sqrt(mp.pi) * mp.exp(-1 / t) * mp.erfi(1 / mp.sqrt(t)) / mp.sqrt(t),
        mp.mpf(1) / 24,
        mp.mpf(1) / 6,
    ),
    (
        "DAWSN_FAR",
        lambda t: mp.sqrt(mp.pi) * mp.exp(-1 / t) * mp.erfi(1 / mp.sqrt(t)) / mp.sqrt(t),
        0,
        mp.mpf(1) / 24,
    ),
    ("EXPINT_0", entire(lambda x: (mp.ei(x) - mp.euler - mp.log(x)) / x), 0, 4),
    *((f"EXPINT_{i + 1}", ei_scaled, low, high) for i, (low, high) in enumerate(pairwise(EXPINT_EDGES))),
    ("EXPINT_FAR", inverse(ei_scaled), 0, mp.mpf(1) / EXPINT_EDGES[-1]),
    ("FRESNEL_C_NEAR", entire(lambda t: mp.fresnelc(mp.root(t, 4)) / mp.root(t, 4)), 0, 8),
    ("FRESNEL_S_NEAR", entire(lambda t: mp.fresnels(mp.root(t, 4)) / mp.root(t, 4) ** 3), 0, 8),
    (
        "FRESNEL_F_FAR",
        lambda t: mp.pi * t ** mp.mpf(-0.25) * fresnel_parts(t ** mp.mpf(-0.25))[0],
        0,
        mp.mpf(1) / 8,
    ),
    (
        "FRESNEL_G_FAR",
        lambda t: mp.pi**2 * t ** mp.mpf(-0.75) * fresnel_parts(t ** mp.mpf(-0.25))[1],
        0,
        mp.mpf(1) / 8,
    ),
    ("SPENCE", entire(lambda y: mp.polylog(2, y) / y), -mp.mpf(1) / 2, mp.mpf(1) / 2),
]


def main() -> None:
    """Write the tables."""
    lines = [
        '"""Chebyshev coefficients of special functions; written by `tools/special_coefficients.py`."""',
        "",
        "# An interval, and the coefficients of the function on it.",
    ]
    for name, function, low, high in TABLES:
        found = coefficients(function, low, high)
        print(name, len(found))
        lines.append(f"{name} = (")
        lines.append(f"    ({float(low)!r}, {float(high)!r}),")
        lines.append("    (")
        lines.extend(f"        {float(c)!r}," for c in found)
        lines.append("    ),")
        lines.append(")")
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
