// Scans by a thread for each stretch of a line, which it walks in order.

// A line of elements, of which a thread takes some.
struct penstock_stretch {
    // The place of the first element, and the number of elements.
    I first, count;
    // Whether the line begins here.
    bool begins;
};

// Stretch `t` of `chunk` elements, of `chunks` in each line of `n`; one of no elements beyond `all`.
__device__ inline penstock_stretch penstock_stretch_of(I t, I all, I n, I inner, I chunk, I chunks, bool reverse) {
    if (t >= all) return penstock_stretch{0, 0, false};
    const I i = t % inner, line = t / inner, c = line % chunks, from = c * chunk, rest = n - from;
    const I place = reverse ? n - 1 - from : from;
    return penstock_stretch{(line / chunks * n + place) * inner + i, rest < chunk ? rest : chunk, c == 0};
}

// Walks stretches that lie apart: those of neighbouring threads lie side by side.
template <bool TOTALS> __device__ void penstock_walk(
    E* out, A* totals, const E* in, const E* factors, const A* into, I all, I n, I inner, I chunk, I chunks, bool exclusive, bool reverse
) {
    const I threads = I(gridDim.x) * blockDim.x, step = reverse ? I(0) - inner : inner;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += threads) {
        const penstock_stretch own = penstock_stretch_of(t, all, n, inner, chunk, chunks, reverse);
        A acc = into != nullptr && !own.begins ? into[t] : carried::start();
        I at = own.first;
        #pragma unroll 4
        for (I p = 0; p < own.count; ++p, at += step) {
            const A value = penstock_visit(acc, in[at], FACTORS ? factors[at] : in[at], own.begins && p == 0, exclusive);
            if (!TOTALS) penstock_store(out[at], value);
        }
        if (TOTALS) totals[t] = acc;
    }
}

// Walks whole lines whose elements lie side by side, `SEGMENT` elements at a time through shared memory: 32 lines for each warp.
__device__ void penstock_walk_lines(E* out, const E* in, const E* factors, I all, I n, bool exclusive, bool reverse) {
    __shared__ E elements[8][32][SEGMENT + 1];
#if FACTORS
    __shared__ E multipliers[8][32][SEGMENT + 1];
#endif
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const I step = reverse ? I(0) - I(1) : I(1);
    for (I base = (I(blockIdx.x) * 8 + warp) * 32; base < all; base += I(gridDim.x) * 256) {
        const penstock_stretch own = penstock_stretch_of(base + lane, all, n, 1, n, 1, reverse);
        A acc = carried::start();
        for (I from = 0; from < n; from += SEGMENT) {
            #pragma unroll
            for (int k = 0; k < SEGMENT; ++k) {
                const int row = (k * 32 + lane) / SEGMENT, column = (k * 32 + lane) % SEGMENT;
                const I first = __shfl_sync(~0u, own.first, row), count = __shfl_sync(~0u, own.count, row);
                if (from + column < count) {
                    elements[warp][row][column] = in[first + (from + column) * step];
#if FACTORS
                    multipliers[warp][row][column] = factors[first + (from + column) * step];
#endif
                }
            }
            __syncwarp();
            #pragma unroll 4
            for (int column = 0; column < SEGMENT; ++column) {
                if (from + column < own.count) {
                    E& x = elements[warp][lane][column];
#if FACTORS
                    const E factor = multipliers[warp][lane][column];
#else
                    const E factor = x;
#endif
                    penstock_store(x, penstock_visit(acc, x, factor, from + column == 0, exclusive));
                }
            }
            __syncwarp();
            #pragma unroll
            for (int k = 0; k < SEGMENT; ++k) {
                const int row = (k * 32 + lane) / SEGMENT, column = (k * 32 + lane) % SEGMENT;
                const I first = __shfl_sync(~0u, own.first, row), count = __shfl_sync(~0u, own.count, row);
                if (from + column < count) out[first + (from + column) * step] = elements[warp][row][column];
            }
            __syncwarp();
        }
    }
}

// What each stretch of lines that lie apart carries to its end.
extern "C" __global__ void penstock_scan_totals(
    A* totals, const E* in, const I all, const I n, const I inner, const I chunk, const I chunks, const unsigned int reverse
) {
    penstock_walk<true>(nullptr, totals, in, nullptr, nullptr, all, n, inner, chunk, chunks, false, reverse != 0);
}

// The results, of what is carried into each stretch.
extern "C" __global__ void penstock_scan(
    E* out, const E* in, const E* factors, const A* into, const I all, const I n, const I inner, const I chunk, const I chunks,
    const unsigned int exclusive, const unsigned int reverse
) {
    if (inner == 1) penstock_walk_lines(out, in, factors, all, n, exclusive != 0, reverse != 0);
    else penstock_walk<false>(out, nullptr, in, factors, into, all, n, inner, chunk, chunks, exclusive != 0, reverse != 0);
}
