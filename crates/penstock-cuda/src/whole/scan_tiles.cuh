// Scans of long lines whose elements lie side by side, of what may be joined in any order: a block of threads for each stretch, which is a
// tile of `256 * SEGMENT` elements, `SEGMENT` in a row for each thread. What the threads carry is joined by a scan of each warp.

// What a lane `by` below has.
__device__ inline float penstock_above(float x, int by) { return __shfl_up_sync(~0u, x, by); }
__device__ inline double penstock_above(double x, int by) { return __shfl_up_sync(~0u, x, by); }
template <class T> __device__ inline penstock_int<T> penstock_above(penstock_int<T> x, int by) {
    return penstock_int<T>(T(__shfl_up_sync(~0u, (long long)x.v, by)));
}

template <bool TOTALS> __device__ void penstock_scan_tile(
    E* out, A* totals, const E* in, const A* into, I all, I n, I chunks, bool exclusive, bool reverse
) {
    __shared__ E elements[256][SEGMENT + 1];
    __shared__ A carries[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (I t = blockIdx.x; t < all; t += gridDim.x) {
        const I c = t % chunks, from = c * (256 * SEGMENT), rest = n - from;
        const I start = t / chunks * n + (reverse ? n - 1 - from : from), step = reverse ? I(0) - I(1) : I(1);
        const int count = rest < 256 * SEGMENT ? int(rest) : 256 * SEGMENT;
        #pragma unroll
        for (int k = 0; k < SEGMENT; ++k) {
            const int i = k * 256 + threadIdx.x;
            if (i < count) elements[i / SEGMENT][i % SEGMENT] = in[start + I(i) * step];
        }
        __syncthreads();
        E* const own = elements[threadIdx.x];
        const int mine = count - int(threadIdx.x) * SEGMENT;
        A acc = carried::start();
        #pragma unroll
        for (int p = 0; p < SEGMENT; ++p)
            if (p < mine) acc = carried::step(acc, penstock_load(own[p]));
        #pragma unroll
        for (int width = 1; width < 32; width *= 2) {
            const A other = penstock_above(acc, width);
            if (lane >= width) acc = carried::step(other, acc);
        }
        const A before = penstock_above(acc, 1);
        if (lane == 31) carries[warp] = acc;
        __syncthreads();
        A carry = into != nullptr && c > 0 ? into[t] : carried::start();
        if (TOTALS) {
            if (threadIdx.x == 0) {
                for (int w = 0; w < 8; ++w) carry = carried::step(carry, carries[w]);
                totals[t] = carry;
            }
        } else {
            for (int w = 0; w < warp; ++w) carry = carried::step(carry, carries[w]);
            if (lane > 0) carry = carried::step(carry, before);
            #pragma unroll
            for (int p = 0; p < SEGMENT; ++p)
                if (p < mine) {
                    const bool first = c == 0 && threadIdx.x == 0 && p == 0;
                    penstock_store(own[p], penstock_visit(carry, own[p], own[p], first, exclusive));
                }
            __syncthreads();
            #pragma unroll
            for (int k = 0; k < SEGMENT; ++k) {
                const int i = k * 256 + threadIdx.x;
                if (i < count) out[start + I(i) * step] = elements[i / SEGMENT][i % SEGMENT];
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void penstock_scan_tile_totals(
    A* totals, const E* in, const I all, const I n, const I chunks, const unsigned int reverse
) {
    penstock_scan_tile<true>(nullptr, totals, in, nullptr, all, n, chunks, false, reverse != 0);
}

extern "C" __global__ void penstock_scan_tiles(
    E* out, const E* in, const A* into, const I all, const I n, const I chunks, const unsigned int exclusive, const unsigned int reverse
) {
    penstock_scan_tile<false>(out, nullptr, in, into, all, n, chunks, exclusive != 0, reverse != 0);
}
