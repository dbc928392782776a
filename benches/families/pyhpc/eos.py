"""The derivative of sea water's dynamic enthalpy by temperature.

The specific volume is a ratio of polynomials with 48 terms in salinity, temperature and pressure (IOC, SCOR
and IAPSO, 2010, The international thermodynamic equation of seawater, appendix K):
`v = (b0 + b1 p + b2 p² + b3 p³) / (a0 + 2 a1 p + a2 p²)`. Its integral over pressure is the dynamic enthalpy,
in closed form by division of the polynomials and partial fractions. Every quantity is a pair with its
derivative by temperature.
"""

from collections.abc import Callable
from typing import Any, Final

# Coefficients of powers of temperature, lowest first; after them, those with salinity and its root.
A0: Final = (9.998420897506056e2, 2.839940833161907e0, -3.147759265588511e-2, 1.181805545074306e-3)
A0_S: Final = (-6.698001071123802e0, -2.986498947203215e-2, 2.327859407479162e-4)
A0_SQ: Final = (-3.988822378968490e-2, 5.095422573880500e-4, -1.426984671633621e-5, 1.645039373682922e-7)
A1: Final = (-2.233269627352527e-2, -3.436090079851880e-4, 3.726050720345733e-6)
A1_S: Final = (-1.806789763745328e-4, 6.876837219536232e-7)
A2: Final = (-3.087032500374211e-7, -1.988366587925593e-8, -1.061519070296458e-11)
A2_S: Final = 1.550932729220080e-10
B0: Final = (1.0, 2.775927747785646e-3, -2.349607444135925e-5, 1.119513357486743e-6, 6.743689325042773e-10)
B0_S: Final = (
    -7.521448093615448e-3,
    -2.764306979894411e-5,
    1.262937315098546e-7,
    9.527875081696435e-10,
    -1.811147201949891e-11,
)
B0_SQ: Final = (
    -3.303308871386421e-5,
    3.801564588876298e-7,
    -7.672876869259043e-9,
    -4.634182341116144e-11,
    2.681097235569143e-12,
)
B0_SS: Final = 5.419326551148740e-6
B1: Final = (-2.742185394906099e-5, -3.212746477974189e-7, 3.191413910561627e-9, -1.931012931541776e-12)
B1_S: Final = (-1.105097577149576e-7, 6.211426728363857e-10)
B2: Final = (-1.119011592875110e-10, -1.941660213148725e-11, -1.864826425365600e-14)
B2_S: Final = 1.119522344879478e-14
B3: Final = (-1.200507748551599e-15, 6.057902487546866e-17)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> tuple[Any, Any]:
    """The value of a polynomial and of its derivative, by Horner's rule."""
    last = len(coefficients) - 1
    value, slope = coefficients[last - 1] + x * coefficients[last], coefficients[last]
    for i in range(last - 2, -1, -1):
        slope = value + x * slope
        value = coefficients[i] + x * value
    return value, slope


def make(sqrt: Callable[[Any], Any], log: Callable[[Any], Any], poly: Any = polynomial) -> Callable[..., Any]:
    """The kernel, on a framework's root, logarithm and polynomials."""

    def eos(s, t, p):
        root = sqrt(s)
        a0, da0 = poly(t, A0)
        a0_s, da0_s = poly(t, A0_S)
        a0_sq, da0_sq = poly(t, A0_SQ)
        a0, da0 = a0 + s * (a0_s + root * a0_sq), da0 + s * (da0_s + root * da0_sq)
        a1, da1 = poly(t, A1)
        a1_s, da1_s = poly(t, A1_S)
        a1, da1 = 0.5 * (a1 + s * a1_s), 0.5 * (da1 + s * da1_s)
        a2, da2 = poly(t, A2)
        a2 = a2 + A2_S * s
        b0, db0 = poly(t, B0)
        b0_s, db0_s = poly(t, B0_S)
        b0_sq, db0_sq = poly(t, B0_SQ)
        b0 = b0 + s * (b0_s + B0_SS * s + root * b0_sq)
        db0 = db0 + s * (db0_s + root * db0_sq)
        b1, db1 = poly(t, B1)
        b1_s, db1_s = poly(t, B1_S)
        b1, db1 = b1 + s * b1_s, db1 + s * db1_s
        b2, db2 = poly(t, B2)
        b2, db2 = b2 + B2_S * s * t, db2 + B2_S * s
        b3, db3 = poly(t, B3)

        # Division with remainder: q1 p + q0, and (r1 p + r0) over the denominator.
        q1 = b3 / a2
        dq1 = (db3 - q1 * da2) / a2
        q0 = (b2 - 2.0 * a1 * q1) / a2
        dq0 = (db2 - 2.0 * (da1 * q1 + a1 * dq1) - q0 * da2) / a2
        r1 = b1 - q1 * a0 - 2.0 * a1 * q0
        dr1 = db1 - dq1 * a0 - q1 * da0 - 2.0 * (da1 * q0 + a1 * dq0)
        r0 = b0 - q0 * a0
        dr0 = db0 - dq0 * a0 - q0 * da0

        # f log(y) integrates the part of the remainder that is the derivative of the denominator …
        f = 0.5 * r1 / a2
        df = (0.5 * dr1 - f * da2) / a2
        growth = p * (2.0 * a1 + a2 * p) / a0
        y = 1.0 + growth
        dy = (p * (2.0 * da1 + da2 * p) - growth * da0) / a0

        # … and g log(z) what is left, by the two roots of the denominator.
        d = sqrt(a1 * a1 - a0 * a2)
        dd = (a1 * da1 - 0.5 * (a0 * da2 + da0 * a2)) / d
        g = 0.5 * (r0 - 2.0 * f * a1) / d
        dg = (0.5 * dr0 - df * a1 - f * da1 - g * dd) / d
        low, dlow = a1 - d, da1 - dd
        high, dhigh = a1 + d + a2 * p, da1 + dd + da2 * p
        w = 2.0 * d * a2 * p / (low * high)
        dw = 2.0 * p * (dd * a2 + d * da2) / (low * high) - w * (dlow / low + dhigh / high)
        z = 1.0 + w
        return 1e4 * (0.5 * dq1 * p * p + dq0 * p + df * log(y) + f * dy / y + dg * log(z) + g * dw / z)

    return eos
