"""The ocean models on Numba, as loops over elements, the outermost in parallel.

They compile for seconds, which is not measured: what was compiled once is kept.
"""

import math
from collections.abc import Callable

import numpy as np
from numba import njit, prange

from cases import Work, Works
from families.pyhpc import INPUTS, SIZES, eos, mixing, tke

EOS = njit(eos.make(math.sqrt, math.log, njit(eos.polynomial)))


@njit(parallel=True, cache=True)
def run_eos(s, t, p):
    nx, ny, nz = s.shape
    out = np.empty_like(s)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = EOS(s[i, j, k], t[i, j, k], p[0, 0, k])
    return out


@njit(cache=True)
def tapered(across, down):
    slope = -across / (min(down, 0.0) - mixing.EPSILON)
    return slope, 0.5 * (1.0 + math.tanh((mixing.SLOPE_LIMIT - abs(slope)) / mixing.SLOPE_WIDTH))


@njit(parallel=True, cache=True)
def gradients(x, mu, mv, mw, dxu, dyu, dzw, cost):
    nx, ny, nz = x.shape
    east, north, down = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                if i < nx - 1:
                    width = dxu[i, 0, 0] * cost[0, j, 0]
                    east[i, j, k] = mu[i, j, k] * (x[i + 1, j, k] - x[i, j, k]) / width
                if j < ny - 1:
                    north[i, j, k] = mv[i, j, k] * (x[i, j + 1, k] - x[i, j, k]) / dyu[0, j, 0]
                if k < nz - 1:
                    down[i, j, k] = mw[i, j, k] * (x[i, j, k + 1] - x[i, j, k]) / dzw[0, 0, k]
    return east, north, down


@njit(parallel=True, cache=True)
def at_face(di, dj, alpha, beta, across_t, across_s, down_t, down_s, mask, diffusivity, dzt, dzw):
    """The tensor at the faces between a cell and that at (di, dj) from it."""
    nx, ny, nz = alpha.shape
    tensor, triads = np.zeros_like(alpha), np.zeros((nx, ny, nz, 4))
    for i in prange(2 - di, nx - 2):
        for j in range(2 - dj, ny - 2):
            for k in range(nz):
                level = diffusivity[i, j, k] + diffusivity[i + di, j + dj, k]
                mean = 0.5 * level
                if k > 0:
                    mean = 0.25 * (level + diffusivity[i, j, k - 1] + diffusivity[i + di, j + dj, k - 1])
                total = 0.0
                for side in range(2):
                    a, b = i + side * di, j + side * dj
                    t, s = alpha[a, b, k], beta[a, b, k]
                    horizontal = t * across_t[i, j, k] + s * across_s[i, j, k]
                    for above in range(2):
                        up = k - 1 + above
                        if up >= 0:
                            slope, taper = tapered(horizontal, t * down_t[a, b, up] + s * down_s[a, b, up])
                            total += dzw[0, 0, up] * mask[i, j, k] * max(mixing.STEEP, mean * taper)
                            triads[i, j, k, 2 * side + above] = taper * slope * mask[i, j, k]
                tensor[i, j, k] = total / (4.0 * dzt[0, 0, k])
    return tensor, triads


@njit(parallel=True, cache=True)
def at_top(
    alpha, beta, east_t, east_s, north_t, north_s, down_t, down_s,
    dxt, dxu, dyt, dyu, cost, cosu, diffusivity, mask,
):  # fmt: skip
    nx, ny, nz = alpha.shape
    tensor = np.zeros_like(alpha)
    bx, by = np.zeros((nx, ny, nz, 4)), np.zeros((nx, ny, nz, 4))
    for i in prange(2, nx - 2):
        for j in range(2, ny - 2):
            for k in range(nz - 1):
                sum_x, sum_y = 0.0, 0.0
                common = diffusivity[i, j, k] * mask[i, j, k]
                for beneath in range(2):
                    c = k + beneath
                    t, s = alpha[i, j, c], beta[i, j, c]
                    vertical = t * down_t[i, j, k] + s * down_s[i, j, k]
                    for side in range(2):
                        a, b = i - 1 + side, j - 1 + side
                        slope, taper = tapered(t * east_t[a, j, c] + s * east_s[a, j, c], vertical)
                        sum_x += dxu[a, 0, 0] * common * taper * slope * slope
                        bx[i, j, k, 2 * side + beneath] = taper * slope * mask[i, j, k]
                        slope, taper = tapered(t * north_t[i, b, c] + s * north_s[i, b, c], vertical)
                        sum_y += cosu[0, b, 0] * dyu[0, b, 0] * common * taper * slope * slope
                        by[i, j, k, 2 * side + beneath] = taper * slope * mask[i, j, k]
                area = 4.0 * dyt[0, j, 0] * cost[0, j, 0]
                tensor[i, j, k] = sum_x / (4.0 * dxt[i, 0, 0]) + sum_y / area
    return tensor, bx, by


@njit(parallel=True, cache=True)
def densities(mt, temp, depth):
    """The derivatives of density by temperature and by salinity."""
    nx, ny, nz = mt.shape
    alpha, beta = np.empty_like(mt), np.empty_like(mt)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                expansion = mixing.THERMAL * (1.0 + mixing.PRESSURE * abs(depth[0, 0, k]))
                expansion += mixing.THERMAL_2 * (temp[i, j, k] - mixing.REFERENCE)
                alpha[i, j, k] = -mt[i, j, k] * mixing.DENSITY * expansion
                beta[i, j, k] = mt[i, j, k] * (mixing.HALINE * mixing.DENSITY)
    return alpha, beta


@njit(cache=True)
def run_mixing(mt, mu, mv, mw, dxt, dxu, dyt, dyu, dzt, dzw, cost, cosu, salt, temp, depth, diffusivity):
    alpha, beta = densities(mt, temp, depth)
    east_t, north_t, down_t = gradients(temp, mu, mv, mw, dxu, dyu, dzw, cost)
    east_s, north_s, down_s = gradients(salt, mu, mv, mw, dxu, dyu, dzw, cost)
    k11, ez = at_face(1, 0, alpha, beta, east_t, east_s, down_t, down_s, mu, diffusivity, dzt, dzw)
    k22, nz = at_face(0, 1, alpha, beta, north_t, north_s, down_t, down_s, mv, diffusivity, dzt, dzw)
    k33, bx, by = at_top(
        alpha, beta, east_t, east_s, north_t, north_s, down_t, down_s,
        dxt, dxu, dyt, dyu, cost, cosu, diffusivity, mw,
    )  # fmt: skip
    return k11, k22, k33, ez, nz, bx, by


@njit(cache=True)
def flux(speed, factor, width, before, here, after, beyond, mask_before, mask, mask_after):
    courant = abs(factor * speed / width)
    step = (after - here) * mask
    behind = (here - before) * mask_before if speed > 0.0 else (beyond - after) * mask_after
    ratio = behind / (tke.TINY if abs(step) < tke.TINY else step)
    limit = max(0.0, max(min(1.0, 2.0 * ratio), min(2.0, ratio)))
    moved = factor * speed
    return 0.5 * (moved * (after + here) - abs(moved) * ((1.0 - limit) + courant * limit) * step)


@njit(cache=True)
def open_face(mask, i, j, k, di, dj, dk):
    """1 if the cell and that at (di, dj, dk) from it are water; 0 outside of the box."""
    nx, ny, nz = mask.shape
    a, b, c = i + di, j + dj, k + dk
    if i < 0 or j < 0 or k < 0 or a >= nx or b >= ny or c >= nz:
        return 0.0
    return mask[i, j, k] * mask[a, b, c]


@njit(parallel=True, cache=True)
def advection(u, v, w, mw, dxt, dyt, dzw, cost, cosu, now):
    nx, ny, nz = now.shape
    east, north, rise = np.zeros_like(now), np.zeros_like(now), np.zeros_like(now)
    for i in prange(1, nx - 2):
        for j in range(1, ny - 2):
            for k in range(nz):
                x = now[i, j, k]
                if j >= 2:
                    east[i, j, k] = flux(
                        u[i, j, k], 1.0, cost[0, j, 0] * dxt[i, 0, 0],
                        now[i - 1, j, k], x, now[i + 1, j, k], now[i + 2, j, k],
                        open_face(mw, i - 1, j, k, 1, 0, 0), open_face(mw, i, j, k, 1, 0, 0),
                        open_face(mw, i + 1, j, k, 1, 0, 0),
                    )  # fmt: skip
                if i >= 2:
                    north[i, j, k] = flux(
                        v[i, j, k], cosu[0, j, 0], cost[0, j, 0] * dyt[0, j, 0],
                        now[i, j - 1, k], x, now[i, j + 1, k], now[i, j + 2, k],
                        open_face(mw, i, j - 1, k, 0, 1, 0), open_face(mw, i, j, k, 0, 1, 0),
                        open_face(mw, i, j + 1, k, 0, 1, 0),
                    )  # fmt: skip
                if i >= 2 and j >= 2 and k < nz - 1:
                    rise[i, j, k] = flux(
                        w[i, j, k], 1.0, dzw[0, 0, k],
                        now[i, j, k - 1] if k > 0 else 0.0, x, now[i, j, k + 1],
                        now[i, j, k + 2] if k < nz - 2 else 0.0,
                        open_face(mw, i, j, k - 1, 0, 0, 1), open_face(mw, i, j, k, 0, 0, 1),
                        open_face(mw, i, j, k + 1, 0, 0, 1),
                    )  # fmt: skip
    return east, north, rise


@njit(cache=True)
def mixed_column(i, j, dzt, dzw, lowest, viscosity, length, forcing, surface, now, after, out):
    """Vertical mixing and dissipation of one column, by elimination from its lowest level."""
    nz = now.shape[2]
    bottom = max(lowest[i, j, 0] - 1, 0)
    if lowest[i, j, 0] == 0:
        bottom = nz
    for k in range(min(bottom, nz)):
        out[k] = after[i, j, k]
    c, d = np.empty(nz), np.empty(nz)
    for k in range(bottom, nz):
        height = dzw[0, 0, k] if k < nz - 1 else 0.5 * dzw[0, 0, k]
        below = 0.0
        if k < nz - 1:
            below = 0.5 * (viscosity[i, j, k] + viscosity[i, j, k + 1]) / dzt[0, 0, k + 1]
        diagonal = 1.0 + tke.DISSIPATION * math.sqrt(max(now[i, j, k], 0.0)) / length[i, j, k]
        right = now[i, j, k] + forcing[i, j, k]
        if k == nz - 1:
            right += surface[i, j, 0] / height
        upper = -below / dzw[0, 0, k]
        if k == bottom:
            diagonal += below / dzw[0, 0, k]
            c[k], d[k] = upper / diagonal, right / diagonal
        else:
            above = 0.5 * (viscosity[i, j, k - 1] + viscosity[i, j, k]) / dzt[0, 0, k]
            lower = -above / height
            pivot = diagonal + (below + above) / height - lower * c[k - 1]
            c[k], d[k] = upper / pivot, (right - lower * d[k - 1]) / pivot
    for k in range(nz - 1, bottom - 1, -1):
        out[k] = d[k] - c[k] * out[k + 1] if k < nz - 1 else d[k]


@njit(parallel=True, cache=True)
def run_tke(
    u, v, w, mu, mv, mw, dxt, dxu, dyt, dyu, dzt, dzw, cost, cosu, lowest, viscosity, length,
    forcing, surface, now, after, tendency,
):  # fmt: skip
    nx, ny, nz = now.shape
    energy, change = np.zeros_like(now), np.zeros_like(now)
    correction = np.zeros((nx, ny, 1))
    east, north, rise = advection(u, v, w, mw, dxt, dyt, dzw, cost, cosu, now)
    for i in prange(2, nx - 2):
        for j in range(2, ny - 2):
            column = energy[i, j]
            mixed_column(i, j, dzt, dzw, lowest, viscosity, length, forcing, surface, now, after, column)
            if column[nz - 1] < 0.0:
                correction[i, j, 0] = -0.5 * dzw[0, 0, nz - 1] * column[nz - 1]
                column[nz - 1] = 0.0
            area_x, area_y = cost[0, j, 0] * dxt[i, 0, 0], cost[0, j, 0] * dyt[0, j, 0]
            for k in range(nz):
                x = now[i, j, k]
                to_east = (now[i + 1, j, k] - x) / dxu[i, 0, 0] * mu[i, j, k] / cost[0, j, 0]
                from_west = (x - now[i - 1, j, k]) / dxu[i - 1, 0, 0] * mu[i - 1, j, k] / cost[0, j, 0]
                to_north = (now[i, j + 1, k] - x) / dyu[0, j, 0] * mv[i, j, k] * cosu[0, j, 0]
                from_south = (x - now[i, j - 1, k]) / dyu[0, j - 1, 0] * mv[i, j - 1, k] * cosu[0, j - 1, 0]
                spread = (to_east - from_west) / area_x + (to_north - from_south) / area_y
                lateral = (east[i, j, k] - east[i - 1, j, k]) / area_x
                lateral += (north[i, j, k] - north[i, j - 1, k]) / area_y
                height = dzw[0, 0, k] if k < nz - 1 else 0.5 * dzw[0, 0, k]
                lift = rise[i, j, k] - (rise[i, j, k - 1] if k > 0 else 0.0)
                change[i, j, k] = -mw[i, j, k] * lateral - lift / height
                column[k] += (
                    mw[i, j, k] * tke.LATERAL * spread
                    + (1.5 + tke.BASHFORTH) * change[i, j, k]
                    - (0.5 + tke.BASHFORTH) * tendency[i, j, k]
                )
    return energy, change, correction


KERNELS = {"eos": run_eos, "mixing": run_mixing, "tke": run_tke}


def works() -> Works:
    def case(kernel: str, cells: int) -> Callable[[], Work]:
        return lambda: Work(KERNELS[kernel], INPUTS[kernel](cells))

    return {f"{kernel}_{size}": case(kernel, cells) for kernel in KERNELS for size, cells in SIZES.items()}
