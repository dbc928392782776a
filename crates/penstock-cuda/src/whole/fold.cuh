// Reductions, in the order in which the host adds up, so that sums of floats have its bits.
//
// A run of neighbours is cut into blocks of 4,096 elements, which 32 accumulators side by side take; they, the blocks of a part, the parts
// of a run and the runs join in balanced trees. Columns add 64 rows in sequence, then such blocks in sequence.
//
// `fold` says what is joined: `E` is the element, `A` the accumulator, `O` the result. `PACK` neighbours are loaded at once. `JOINED` says
// that a part of rows is one block.

typedef fold::E E;
typedef fold::A A;
typedef fold::O O;

__device__ inline float penstock_below(float x, int by) { return __shfl_down_sync(~0u, x, by); }
__device__ inline double penstock_below(double x, int by) { return __shfl_down_sync(~0u, x, by); }
__device__ inline bool penstock_below(bool x, int by) { return __shfl_down_sync(~0u, int(x), by) != 0; }
template <class T> __device__ inline penstock_int<T> penstock_below(penstock_int<T> x, int by) {
    return penstock_int<T>(T(__shfl_down_sync(~0u, (long long)x.v, by)));
}

template <class F> __device__ inline penstock_complex<F> penstock_below(penstock_complex<F> x, int by) {
    return penstock_complex<F>(__shfl_down_sync(~0u, x.re, by), __shfl_down_sync(~0u, x.im, by));
}

// A warp for each block of each run.
extern "C" __global__ void penstock_fold_runs(
    O* out, A* table, const E* in, const I kept, const I runs, const I n, const I blocks, const penstock_list<I, KEPT> dims,
    const penstock_list<I, KEPT> steps, const penstock_list<I, GONE> run_dims, const penstock_list<I, GONE> run_steps,
    const unsigned long long count
) {
    const I warps = I(gridDim.x) * (blockDim.x / 32), all = kept * runs * blocks;
    const int lane = threadIdx.x % 32;
    for (I w = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; w < all; w += warps) {
        const I block = w % blocks, run = w / blocks % runs, k = w / blocks / runs;
        const E* const from = in + penstock_offset(k, dims, steps) + penstock_offset(run, run_dims, run_steps) + block * 4096;
        const I rest = n - block * 4096, end = rest < 4096 ? rest : 4096;
        A acc = fold::init();
        #pragma unroll 8
        for (I i = lane; i < end; i += 32) acc = fold::join(acc, fold::load(from[i]));
        for (int width = 16; width > 0; width /= 2) acc = fold::join(acc, penstock_below(acc, width));
        if (lane == 0) {
            if (runs * blocks == 1) fold::finish(out[k], acc, count);
            else table[w] = acc;
        }
    }
}

// A thread for each run, of fewer than 32 elements, in sequence.
extern "C" __global__ void penstock_fold_short_runs(
    O* out, A* table, const E* in, const I kept, const I runs, const I n, const penstock_list<I, KEPT> dims,
    const penstock_list<I, KEPT> steps, const penstock_list<I, GONE> run_dims, const penstock_list<I, GONE> run_steps,
    const unsigned long long count
) {
    const I step = I(gridDim.x) * blockDim.x, all = kept * runs;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I run = t % runs, k = t / runs;
        const E* const from = in + penstock_offset(k, dims, steps) + penstock_offset(run, run_dims, run_steps);
        A acc = fold::init();
        for (I i = 0; i < n; ++i) acc = fold::join(acc, fold::load(from[i]));
        if (runs == 1) fold::finish(out[k], acc, count);
        else table[t] = acc;
    }
}

// Joins `n` accumulators, `step` apart, in a balanced tree, by all threads of the block.
__device__ void penstock_tree(A* at, I n, const I step) {
    while (n > 1) {
        const I half = n / 2;
        for (I base = 0; base < half; base += blockDim.x) {
            const I i = base + threadIdx.x;
            A joined = fold::init();
            if (i < half) joined = fold::join(at[2 * i * step], at[(2 * i + 1) * step]);
            __syncthreads();
            if (i < half) at[i * step] = joined;
            __syncthreads();
        }
        if (n % 2 == 1 && threadIdx.x == 0) at[half * step] = at[(n - 1) * step];
        __syncthreads();
        n = (n + 1) / 2;
    }
}

// Joins those of `COUNT` accumulators from `FIRST` on that are below `n`, in a balanced tree. All places are known when this is compiled, so
// that registers hold them.
template <int FIRST, int COUNT> __device__ inline A penstock_join_part(const A (&acc)[16], const int n) {
    if constexpr (COUNT == 1) return acc[FIRST];
    else {
        const A left = penstock_join_part<FIRST, COUNT / 2>(acc, n);
        return FIRST + COUNT / 2 < n ? fold::join(left, penstock_join_part<FIRST + COUNT / 2, COUNT / 2>(acc, n)) : left;
    }
}

// A block of threads for each result: the blocks of each part, the parts of each run, the runs.
extern "C" __global__ void penstock_join_runs(
    O* out, const A* table, A* second, const I kept, const I runs, const I blocks, const unsigned long long count
) {
    const I parts = (blocks + 15) / 16;
    for (I k = blockIdx.x; k < kept; k += gridDim.x) {
        A* const own = second + k * runs * parts;
        for (I p = threadIdx.x; p < runs * parts; p += blockDim.x) {
            const A* const from = table + k * runs * blocks + p / parts * blocks + p % parts * 16;
            const I rest = blocks - p % parts * 16;
            const int n = rest < 16 ? int(rest) : 16;
            A acc[16];
            #pragma unroll
            for (int i = 0; i < 16; ++i) acc[i] = i < n ? from[i] : fold::init();
            own[p] = penstock_join_part<0, 16>(acc, n);
        }
        __syncthreads();
        if (parts > 1)
            for (I run = 0; run < runs; ++run) penstock_tree(own + run * parts, parts, 1);
        penstock_tree(own, runs, parts);
        if (threadIdx.x == 0) fold::finish(out[k], own[0], count);
        __syncthreads();
    }
}

// A thread for `PACK` neighbouring columns of each block of 64 rows. Columns, and the step from row to row, count such packs.
extern "C" __global__ void penstock_fold_rows(
    O* out, A* table, const E* in, const I kept, const I others, const I rows, const I blocks, const I columns, const I row_step,
    const penstock_list<I, KEPT> dims, const penstock_list<I, KEPT> steps, const penstock_list<I, GONE> other_dims,
    const penstock_list<I, GONE> other_steps, const unsigned long long count
) {
    typedef penstock_pack<E, PACK> P;
    const I step = I(gridDim.x) * blockDim.x, all = kept * others * blocks * columns;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I column = t % columns, line = t / columns;
        const I block = line % blocks, other = line / blocks % others, k = line / blocks / others;
        const E* const start = in + penstock_offset(k, dims, steps) + penstock_offset(other, other_dims, other_steps);
        const P* const from = reinterpret_cast<const P*>(start) + block * 64 * row_step + column;
        const I rest = rows - block * 64, end = rest < 64 ? rest : 64;
        A acc[PACK];
        for (int i = 0; i < PACK; ++i) acc[i] = fold::init();
        #pragma unroll 8
        for (I r = 0; r < end; ++r) {
            const P x = from[r * row_step];
            for (int i = 0; i < PACK; ++i) acc[i] = fold::join(acc[i], fold::load(x.at[i]));
        }
        penstock_pack<A, PACK> joined;
        // A block that is all of a part is joined to nothing here.
        for (int i = 0; i < PACK; ++i) joined.at[i] = JOINED ? fold::join(fold::init(), acc[i]) : acc[i];
        if (others * blocks == 1)
            for (int i = 0; i < PACK; ++i) fold::finish(out[(k * columns + column) * PACK + i], joined.at[i], count);
        else reinterpret_cast<penstock_pack<A, PACK>*>(table)[t] = joined;
    }
}

// A thread for each column of each part: its blocks, in sequence.
extern "C" __global__ void penstock_join_rows(
    O* out, A* second, const A* table, const I kept, const I others, const I blocks, const I columns, const I part, const I parts,
    const unsigned long long count
) {
    const I step = I(gridDim.x) * blockDim.x, all = kept * parts * columns;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I column = t % columns, p = t / columns % parts, k = t / columns / parts;
        const I start = p * part, end = start + part < blocks ? start + part : blocks;
        A acc = fold::init();
        for (I other = 0; other < others; ++other)
            for (I b = start; b < end; ++b) acc = fold::join(acc, table[((k * others + other) * blocks + b) * columns + column]);
        if (parts == 1) fold::finish(out[k * columns + column], acc, count);
        else second[t] = acc;
    }
}

// 8 columns for each block of 256 threads: their parts, in sequence. The first warp joins those that were loaded while the others load
// those that follow, each thread 8 of them at once, or 4 of 16 bytes. Parts that are not there are joined as what changes nothing.
extern "C" __global__ void penstock_join_parts(
    O* out, const A* second, const I kept, const I columns, const I parts, const unsigned long long count
) {
    const int WIDTH = 8, EACH = sizeof(A) > 8 ? 4 : 8, BY = (256 - 32) / WIDTH, CHUNK = BY * EACH;
    __shared__ A loaded[2][CHUNK][WIDTH];
    const I groups = (columns + WIDTH - 1) / WIDTH, rounds = (parts + CHUNK - 1) / CHUNK;
    const int lane = threadIdx.x % WIDTH, row = (int(threadIdx.x) - 32) / WIDTH;
    for (I t = blockIdx.x; t < kept * groups; t += gridDim.x) {
        const I k = t / groups, column = t % groups * WIDTH + lane;
        A acc = fold::init();
        for (I round = 0; round <= rounds; ++round) {
            if (threadIdx.x >= 32 && round < rounds) {
                const I start = round * CHUNK + row;
                const A* const from = second + (k * parts + start) * columns + column;
                A held[EACH];
                #pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    held[i] = fold::init();
                    if (column < columns && start + i * BY < parts) held[i] = from[I(i * BY) * columns];
                }
                #pragma unroll
                for (int i = 0; i < EACH; ++i) loaded[round % 2][row + i * BY][lane] = held[i];
            }
            if (threadIdx.x < WIDTH && round > 0) {
                #pragma unroll 32
                for (int p = 0; p < CHUNK; ++p) acc = fold::join(acc, loaded[(round - 1) % 2][p][lane]);
            }
            __syncthreads();
        }
        if (threadIdx.x < WIDTH && column < columns) fold::finish(out[k * columns + column], acc, count);
    }
}
