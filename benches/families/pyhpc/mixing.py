"""The tensor of isoneutral mixing: tapered slopes of surfaces of neutral density, and their diffusivities.

The discretisation is that of S. Griffies, 1998, Isoneutral diffusion in a z-coordinate ocean model, J. Phys.
Oceanogr. 28: every face of a cell has the slopes of the four triads around it.
"""

from collections.abc import Callable
from typing import Any, Final

from families.arrays import Arrays

EPSILON: Final = 1e-20
SLOPE_LIMIT: Final = 1e-3
SLOPE_WIDTH: Final = 1e-3
STEEP: Final = 50.0
DENSITY: Final = 1024.0
THERMAL, THERMAL_2, PRESSURE = 1.67e-4, 1e-5, 1.1e-8 * 9.81 * 1024.0
HALINE: Final = 0.78e-3
REFERENCE: Final = 283.0 - 273.15


def make(a: Arrays) -> Callable[..., Any]:
    """The kernel, on the arrays of a framework."""

    def tapered(across, down):
        slope = -across / (a.ceil_at(down, 0.0) - EPSILON)
        return slope, 0.5 * (1.0 + a.tanh((SLOPE_LIMIT - a.abs(slope)) / SLOPE_WIDTH))

    def at_face(part, nz, alpha, beta, across, down, mask, diffusivity, dzt, dzw):
        """The tensor at the faces between cells along one horizontal axis.

        `part(x, o)` is the region of the faces, moved by `o` cells over the axis.
        """
        level = part(diffusivity, 0) + part(diffusivity, 1)
        mean = a.join([0.5 * level[:, :, :1], 0.25 * (level[:, :, 1:] + level[:, :, :-1])])
        (t_across, s_across), (t_down, s_down) = across, down
        t_across, s_across, mask = part(t_across, 0), part(s_across, 0), part(mask, 0)
        total, triads = 0.0, []
        for side in range(2):
            alpha_side, beta_side = part(alpha, side), part(beta, side)
            t_side, s_side = part(t_down, side), part(s_down, side)
            for above in range(2):
                # The gradient down is that above the cell or that beneath it; there is none above the first.
                cut, up = slice(1 - above, nz), slice(0, nz - 1 + above)
                t, s = alpha_side[:, :, cut], beta_side[:, :, cut]
                slope, taper = tapered(
                    t * t_across[:, :, cut] + s * s_across[:, :, cut],
                    t * t_side[:, :, up] + s * s_side[:, :, up],
                )
                weight = dzw[:, :, up] * mask[:, :, cut] * a.floor_at(mean[:, :, cut] * taper, STEEP)
                triad = taper * slope * mask[:, :, cut]
                if not above:
                    weight, triad = (a.pad(x, [(0, 0), (0, 0), (1, 0)]) for x in (weight, triad))
                total = total + weight
                triads.append(triad)
        return total / (4.0 * dzt), triads

    def at_top(alpha, beta, across, down, neighbours, widths, diffusivity, mask, nz):
        """The part of the tensor at the top of cells that one horizontal axis gives."""
        (t_across, s_across), (t_down, s_down) = across, down
        total, triads = 0.0, {}
        for beneath in range(2):
            levels = slice(beneath, nz - 1 + beneath)
            t, s = alpha[:, :, levels], beta[:, :, levels]
            vertical = t * t_down + s * s_down
            for side in range(2):
                near_t, near_s = neighbours(t_across, side), neighbours(s_across, side)
                slope, taper = tapered(t * near_t[:, :, levels] + s * near_s[:, :, levels], vertical)
                total = total + neighbours(widths, side) * diffusivity * taper * slope * slope * mask
                triads[side, beneath] = taper * slope * mask
        return total, [triads[side, beneath] for side in range(2) for beneath in range(2)]

    def mixing(mt, mu, mv, mw, dxt, dxu, dyt, dyu, dzt, dzw, cost, cosu, salt, temp, depth, diffusivity):
        nx, ny, nz = temp.shape
        alpha = mt * (-DENSITY * (THERMAL_2 * (temp - REFERENCE) + THERMAL * (1.0 + PRESSURE * a.abs(depth))))
        beta = mt * (HALINE * DENSITY)

        def gradients(x):
            east = mu[:-1] * (x[1:] - x[:-1]) / (dxu[:-1] * cost)
            north = mv[:, :-1] * (x[:, 1:] - x[:, :-1]) / dyu[:, :-1]
            down = mw[:, :, :-1] * (x[:, :, 1:] - x[:, :, :-1]) / dzw[:, :, :-1]
            return east, north, a.pad(down, [(0, 0), (0, 0), (0, 1)])

        east_t, north_t, down_t = gradients(temp)
        east_s, north_s, down_s = gradients(salt)

        def part_x(x, o):
            return x[1 + o : nx - 2 + o, 2 : ny - 2]

        def part_y(x, o):
            return x[2 : nx - 2, 1 + o : ny - 2 + o]

        common = (diffusivity, dzt, dzw)
        k11, ez = at_face(part_x, nz, alpha, beta, (east_t, east_s), (down_t, down_s), mu, *common)
        k22, nz_ = at_face(part_y, nz, alpha, beta, (north_t, north_s), (down_t, down_s), mv, *common)

        def inner(x):
            return x[2 : nx - 2, 2 : ny - 2]

        # An array of sizes along one axis has extent 1 along the other.
        def beside_x(x, o):
            return x[1 + o : nx - 3 + o, 2 : ny - 2] if x.shape[1] > 1 else x[1 + o : nx - 3 + o]

        def beside_y(x, o):
            return x[2 : nx - 2, 1 + o : ny - 3 + o] if x.shape[0] > 1 else x[:, 1 + o : ny - 3 + o]

        down = inner(down_t)[:, :, :-1], inner(down_s)[:, :, :-1]
        here = inner(diffusivity)[:, :, :-1], inner(mw)[:, :, :-1], nz
        al, be = inner(alpha), inner(beta)
        sum_x, bx = at_top(al, be, (east_t, east_s), down, beside_x, dxu, *here)
        sum_y, by = at_top(al, be, (north_t, north_s), down, beside_y, cosu * dyu, *here)
        k33 = sum_x / (4.0 * dxt[2:-2]) + sum_y / (4.0 * dyt[:, 2:-2] * cost[:, 2:-2])

        face_x, face_y = [(1, 2), (2, 2), (0, 0)], [(2, 2), (1, 2), (0, 0)]
        top = [(2, 2), (2, 2), (0, 1)]
        tensors = [
            a.pad(a.stack(triads), [*widths, (0, 0)])
            for triads, widths in ((ez, face_x), (nz_, face_y), (bx, top), (by, top))
        ]
        return a.pad(k11, face_x), a.pad(k22, face_y), a.pad(k33, top), *tensors

    return mixing
