"""Prints the coefficients of `near` in `crates/penstock-kernels/src/gamma.rs`, and how far off it is.

    python tools/gamma_coefficients.py

`log(gamma(u))` is 0 at 1 and at 2. Divided by `(u - 1) (u - 2)` it is smooth and positive on [1/2, 5/2]. Its
fit is a rational function of `t = u - 3/2`, with the least sum of squared relative errors at the Chebyshev
points of the interval. Errors are multiplied by the denominator, so that the problem is linear; weights of
one over the denominator of the fit before undo that.
"""

from typing import Any, Final

import mpmath as mp

mp.mp.dps = 60
MIDDLE: Final = mp.mpf(3) / 2
POINTS: Final = 120
DEGREE: Final = 8
ITERATIONS: Final = 8


def quotient(t: Any) -> Any:
    """The function that is approximated; at 1 and 2 by the rule of l'Hôpital."""
    u = MIDDLE + t
    below = (u - 1) * (u - 2)
    return mp.loggamma(u) / below if abs(below) > mp.mpf(10) ** -25 else mp.digamma(u) / (2 * u - 3)


def fitted() -> tuple[list[Any], list[Any]]:
    """The coefficients of the numerator and of the denominator, that of the highest power first."""
    points = [mp.cos(mp.pi * (2 * k + 1) / (2 * POINTS)) for k in range(POINTS)]
    values = [quotient(t) for t in points]
    weights = [mp.mpf(1)] * POINTS
    numerator, denominator = [], []
    for _ in range(ITERATIONS):
        left, right = mp.matrix(POINTS, 2 * DEGREE + 1), mp.matrix(POINTS, 1)
        for i, (t, value, weight) in enumerate(zip(points, values, weights, strict=True)):
            for j in range(DEGREE + 1):
                left[i, j] = weight * t**j / value
            for j in range(1, DEGREE + 1):
                left[i, DEGREE + j] = -weight * t**j
            right[i] = weight
        found = list(mp.lu_solve(left, right))
        numerator = found[DEGREE::-1]
        denominator = [*found[:DEGREE:-1], mp.mpf(1)]
        weights = [1 / abs(mp.polyval(denominator, t)) for t in points]
    return numerator, denominator


def main() -> None:
    """Prints both polynomials and the largest relative error on a fine grid."""
    numerator, denominator = fitted()
    for name, polynomial in (("numerator", numerator), ("denominator", denominator)):
        print(name, *(mp.nstr(c, 18) for c in polynomial), sep="\n  ")
    grid = [mp.mpf(k) / 1000 - 1 for k in range(2001)]
    errors = (abs(mp.polyval(numerator, t) / mp.polyval(denominator, t) / quotient(t) - 1) for t in grid)
    print("largest relative error", mp.nstr(max(errors), 2))


if __name__ == "__main__":
    main()
