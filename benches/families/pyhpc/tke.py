"""A step of turbulent kinetic energy: implicit vertical mixing, lateral diffusion, advection.

The advection has the superbee limiter (P. Roe, 1986, Characteristic-based schemes for the Euler equations,
Annu. Rev. Fluid Mech. 18), the stepping in time is that of Adams and Bashforth.
"""

from collections.abc import Callable
from typing import Any, Final

from families.arrays import Arrays

DISSIPATION: Final = 0.7
LATERAL: Final = 2000.0
BASHFORTH: Final = 0.1
TINY: Final = 1e-20


def make(a: Arrays) -> Callable[..., Any]:
    """The kernel, on the arrays of a framework; steps of time are of one second."""

    def tridiagonal(lower, diagonal, upper, right, nz):
        """Solves a system along the last axis, by elimination from the front."""
        cs, ds = [], []
        for k in range(nz):
            if k == 0:
                c, d = upper[:, :, 0] / diagonal[:, :, 0], right[:, :, 0] / diagonal[:, :, 0]
            else:
                pivot = diagonal[:, :, k] - lower[:, :, k] * c
                c, d = upper[:, :, k] / pivot, (right[:, :, k] - lower[:, :, k] * d) / pivot
            cs.append(c)
            ds.append(d)
        results = [ds[-1]]
        for k in range(nz - 2, -1, -1):
            results.append(ds[k] - cs[k] * results[-1])
        return a.stack(results[::-1])

    def flux(speed, factor, width, before, here, after, beyond, mask_before, mask, mask_after):
        """The superbee flux between `here` and `after`, to which positive `speed` leads."""
        courant = a.abs(factor * speed / width)
        step = (after - here) * mask
        behind = a.where(speed > 0.0, (here - before) * mask_before, (beyond - after) * mask_after)
        ratio = behind / a.where(a.abs(step) >= TINY, step, TINY)
        limit = a.floor_at(a.maximum(a.ceil_at(2.0 * ratio, 1.0), a.ceil_at(ratio, 2.0)), 0.0)
        moved = factor * speed
        return 0.5 * (moved * (after + here) - a.abs(moved) * ((1.0 - limit) + courant * limit) * step)

    def tke(
        u, v, w, mu, mv, mw, dxt, dxu, dyt, dyu, dzt, dzw, cost, cosu, lowest, viscosity, length,
        forcing, surface, now, after, tendency,
    ):  # fmt: skip
        nz = now.shape[2]

        def inner(x):
            return x[2:-2, 2:-2]

        # Vertical mixing and dissipation.
        kappa = inner(viscosity)
        delta = 0.5 * (kappa[:, :, :-1] + kappa[:, :, 1:]) / dzt[:, :, 1:]
        above, below = a.pad(delta, [(0, 0), (0, 0), (1, 0)]), a.pad(delta, [(0, 0), (0, 0), (0, 1)])
        heights = a.join([dzw[:, :, :-1], 0.5 * dzw[:, :, -1:]])
        levels = a.reshape(a.arange(nz), [1, 1, nz])
        bottom = inner(lowest) - 1
        water = (bottom >= 0) & (levels >= bottom)
        edge = (bottom >= 0) & (levels == bottom)
        lost = 1.0 + DISSIPATION * a.sqrt(a.floor_at(inner(now), 0.0)) / inner(length)
        flow = inner(surface) / (0.5 * dzw[:, :, -1:])
        source = inner(now) + inner(forcing)
        solved = tridiagonal(
            a.where(water & ~edge, -above / heights, 0.0),
            a.where(edge, lost + below / dzw, a.where(water, lost + (below + above) / heights, 1.0)),
            a.where(water, -below / dzw, 0.0),
            a.where(water, a.join([source[:, :, :-1], source[:, :, -1:] + flow]), 0.0),
            nz,
        )
        energy = a.where(water, solved, inner(after))
        top = energy[:, :, -1:]
        correction = a.where(top < 0.0, -0.5 * dzw[:, :, -1:] * top, 0.0)
        energy = a.join([energy[:, :, :-1], a.floor_at(top, 0.0)])

        # Lateral diffusion.
        area_x, area_y = cost[:, 2:-2] * dxt[2:-2], cost[:, 2:-2] * dyt[:, 2:-2]
        row = LATERAL * (now[2:-1, 2:-2] - now[1:-2, 2:-2]) / (cost[:, 2:-2] * dxu[1:-2]) * mu[1:-2, 2:-2]
        column = now[2:-2, 2:-1] - now[2:-2, 1:-2]
        column = LATERAL * column / dyu[:, 1:-2] * mv[2:-2, 1:-2] * cosu[:, 1:-2]
        spread = (row[1:] - row[:-1]) / area_x + (column[:, 1:] - column[:, :-1]) / area_y
        energy = energy + inner(mw) * spread

        # Advection. A face is open if both of its cells are water.
        x, m = now[:, 2:-2], mw[:, 2:-2]
        m = m[1:] * m[:-1]
        m = a.pad(m, [(0, 1), (0, 0), (0, 0)])
        east = flux(
            u[1:-2, 2:-2], 1.0, cost[:, 2:-2] * dxt[1:-2],
            x[:-3], x[1:-2], x[2:-1], x[3:], m[:-3], m[1:-2], m[2:-1],
        )  # fmt: skip
        y, m = now[2:-2], mw[2:-2]
        m = m[:, 1:] * m[:, :-1]
        m = a.pad(m, [(0, 0), (0, 1), (0, 0)])
        north = flux(
            v[2:-2, 1:-2], cosu[:, 1:-2], cost[:, 1:-2] * dyt[:, 1:-2],
            y[:, :-3], y[:, 1:-2], y[:, 2:-1], y[:, 3:], m[:, :-3], m[:, 1:-2], m[:, 2:-1],
        )  # fmt: skip
        z, m = a.pad(inner(now), [(0, 0), (0, 0), (1, 1)]), inner(mw)
        m = a.pad(m[:, :, 1:] * m[:, :, :-1], [(0, 0), (0, 0), (1, 1)])
        rise = flux(
            inner(w)[:, :, :-1], 1.0, dzw[:, :, :-1],
            z[:, :, :-3], z[:, :, 1:-2], z[:, :, 2:-1], z[:, :, 3:],
            m[:, :, :-2], m[:, :, 1:-1], m[:, :, 2:],
        )  # fmt: skip
        lateral = (east[1:] - east[:-1]) / area_x + (north[:, 1:] - north[:, :-1]) / area_y
        rise = a.pad(rise, [(0, 0), (0, 0), (1, 1)])
        change = -inner(mw) * lateral - (rise[:, :, 1:] - rise[:, :, :-1]) / heights

        energy = energy + (1.5 + BASHFORTH) * change - (0.5 + BASHFORTH) * inner(tendency)
        halo = [(2, 2), (2, 2), (0, 0)]
        return a.pad(energy, halo), a.pad(change, halo), a.pad(correction, halo)

    return tke
