// Softmax and cross-entropies of rows of `n` elements, a warp for each row. Sums are taken in the host's order: 32 lanes side by side, then
// half of them at a time. `E` is the element, `A` the type of computing, `functions` has the host's `exp` and `log`.

__device__ inline A penstock_greater(A a, A b) { return !(a >= b) && a == a ? b : a; }

// The sum of the lanes, for every lane.
__device__ A penstock_row_sum(A acc) {
    for (int width = 16; width > 0; width /= 2) acc = acc + __shfl_down_sync(~0u, acc, width);
    return __shfl_sync(~0u, acc, 0);
}

// What a row's softmax is made of: its greatest element, and e to what each element is below it. Rows of at most `32 * COUNT` elements
// are read once and kept in registers; where `COUNT` is 0, they are read again and computed again.
struct penstock_row {
    const E* x;
    I n;
    int lane;
    A max, sum;
#if COUNT
    A at[COUNT], e[COUNT];
#endif

    __device__ penstock_row(const E* x, I n, int lane) : x(x), n(n), lane(lane) {
        A acc = -LARGEST;
#if COUNT
        #pragma unroll
        for (int c = 0; c < COUNT; ++c) at[c] = lane + 32 * c < n ? penstock_load(x[lane + 32 * c]) : -LARGEST;
        #pragma unroll
        for (int c = 0; c < COUNT; ++c) if (lane + 32 * c < n) acc = penstock_greater(acc, at[c]);
#else
        for (I i = lane; i < n; i += 32) acc = penstock_greater(acc, penstock_load(x[i]));
#endif
        for (int width = 16; width > 0; width /= 2) acc = penstock_greater(acc, __shfl_down_sync(~0u, acc, width));
        max = __shfl_sync(~0u, acc, 0);
        acc = A(0);
#if COUNT
        #pragma unroll
        for (int c = 0; c < COUNT; ++c) {
            at[c] = at[c] - max;
            e[c] = functions::exp(at[c]);
            if (lane + 32 * c < n) acc = acc + e[c];
        }
#else
        for (I i = lane; i < n; i += 32) acc = acc + functions::exp(penstock_load(x[i]) - max);
#endif
        sum = penstock_row_sum(acc);
    }

    // Calls `f` with the number of each element of this lane, what it is above the greatest, and e to that.
    template <class F> __device__ void each(F f) const {
#if COUNT
        #pragma unroll
        for (int c = 0; c < COUNT; ++c) if (lane + 32 * c < n) f(I(lane + 32 * c), at[c], e[c]);
#else
        for (I i = lane; i < n; i += 32) {
            const A above = penstock_load(x[i]) - max;
            f(i, above, functions::exp(above));
        }
#endif
    }
};

#define PENSTOCK_ROWS \
    const I warps = I(gridDim.x) * (blockDim.x / 32); \
    const int lane = threadIdx.x % 32; \
    for (I row = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps)

extern "C" __global__ void penstock_softmax(E* out, const E* in, const I rows, const I n) {
    PENSTOCK_ROWS {
        const penstock_row r(in + row * n, n, lane);
        const A scale = A(1) / r.sum;
        E* const to = out + row * n;
        r.each([&](I i, A, A e) { penstock_store(to[i], e * scale); });
    }
}

extern "C" __global__ void penstock_log_softmax(E* out, const E* in, const I rows, const I n) {
    PENSTOCK_ROWS {
        const penstock_row r(in + row * n, n, lane);
        const A shift = functions::log(r.sum);
        E* const to = out + row * n;
        r.each([&](I i, A above, A) { penstock_store(to[i], above - shift); });
    }
}

// Labels are distributions.
extern "C" __global__ void penstock_cross_entropy(E* loss, E* back, const E* logits, const E* labels, const I rows, const I n) {
    PENSTOCK_ROWS {
        const penstock_row r(logits + row * n, n, lane);
        const A shift = functions::log(r.sum), scale = A(1) / r.sum;
        const E* const t = labels + row * n;
        E* const to = back + row * n;
        A acc = A(0);
        r.each([&](I i, A above, A e) {
            const A label = penstock_load(t[i]);
            // A label of 0 ignores a logit of -inf.
            acc = acc + (label == A(0) ? A(0) : label * (shift - above));
            penstock_store(to[i], e * scale - label);
        });
        const A total = penstock_row_sum(acc);
        if (lane == 0) penstock_store(loss[row], total);
    }
}

// Labels, of type `L`, are the numbers of classes, all of them below `n`.
extern "C" __global__ void penstock_sparse_cross_entropy(E* loss, E* back, const E* logits, const L* labels, const I rows, const I n) {
    PENSTOCK_ROWS {
        const penstock_row r(logits + row * n, n, lane);
        const A scale = A(1) / r.sum;
        const I label = I(labels[row]);
        E* const to = back + row * n;
        r.each([&](I i, A, A e) { penstock_store(to[i], i == label ? e * scale - A(1) : e * scale); });
        if (lane == 0) penstock_store(loss[row], functions::log(r.sum) - (penstock_load(r.x[label]) - r.max));
    }
}

// --- logarithms of sums of exponentials --------------------------------------------------------

// Elements of a row that a warp takes.
#define PIECE (I(1) << 15)

// What is subtracted where the greatest element is `max`: neither an infinity nor NaN times 0 is 0.
__device__ inline A penstock_shift(A max) { return max * A(0) == A(0) ? max : A(0); }

// Of each piece of each row the greatest element and the sum of e to what the others are above the shift: a warp each.
extern "C" __global__ void penstock_logsumexp_pieces(A* table, const E* in, const I rows, const I n, const I pieces) {
    const I warps = I(gridDim.x) * (blockDim.x / 32);
    const int lane = threadIdx.x % 32;
    for (I t = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; t < rows * pieces; t += warps) {
        const I from = t % pieces * PIECE, end = n - from < PIECE ? n : from + PIECE;
        const E* const x = in + t / pieces * n;
        A max = -LARGEST;
        for (I i = from + lane; i < end; i += 32) max = penstock_greater(max, penstock_load(x[i]));
        for (int width = 16; width > 0; width /= 2) max = penstock_greater(max, __shfl_down_sync(~0u, max, width));
        max = __shfl_sync(~0u, max, 0);
        const A shift = penstock_shift(max);
        A acc = A(0);
        for (I i = from + lane; i < end; i += 32) acc = acc + functions::exp(penstock_load(x[i]) - shift);
        acc = penstock_row_sum(acc);
        if (lane == 0) {
            table[2 * t] = max;
            table[2 * t + 1] = acc;
        }
    }
}

// What the pieces of each row give together: a thread each.
extern "C" __global__ void penstock_logsumexp_rows(E* out, const A* table, const I rows, const I pieces) {
    for (I row = I(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += I(gridDim.x) * blockDim.x) {
        const A* const own = table + 2 * row * pieces;
        A max = -LARGEST, sum = A(0);
        for (I p = 0; p < pieces; ++p) max = penstock_greater(max, own[2 * p]);
        const A shift = penstock_shift(max);
        // Nothing comes of a piece of which all is -inf, also where what it would be scaled by overflows.
        for (I p = 0; p < pieces; ++p)
            if (own[2 * p] != -LARGEST) sum = sum + own[2 * p + 1] * functions::exp(penstock_shift(own[2 * p]) - shift);
        penstock_store(out[row], functions::log(sum) + shift);
    }
}

// Along the middle of three dimensions, the last of which has more than one element: a thread for each column.
extern "C" __global__ void penstock_logsumexp_columns(E* out, const E* in, const I columns, const I n, const I inner) {
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < columns; t += I(gridDim.x) * blockDim.x) {
        const E* const x = in + t / inner * n * inner + t % inner;
        A max = -LARGEST, sum = A(0);
        #pragma unroll 4
        for (I r = 0; r < n; ++r) max = penstock_greater(max, penstock_load(x[r * inner]));
        const A shift = penstock_shift(max);
        #pragma unroll 4
        for (I r = 0; r < n; ++r) sum = sum + functions::exp(penstock_load(x[r * inner]) - shift);
        penstock_store(out[t], functions::log(sum) + shift);
    }
}
