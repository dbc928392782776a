// Reductions of rows that lie next to each other, in the host's order. `fold` says what is joined; `NONE` is what a segment without rows is.

typedef fold::E E;
typedef fold::A A;

// What a segment without rows is, as it is computed.
__device__ inline auto penstock_none() -> decltype(penstock_load(E())) { return NONE; }

__device__ inline float penstock_of_lane(float x, int lane) { return __shfl_sync(~0u, x, lane); }
__device__ inline double penstock_of_lane(double x, int lane) { return __shfl_sync(~0u, x, lane); }
template <class T> __device__ inline penstock_int<T> penstock_of_lane(penstock_int<T> x, int lane) {
    return penstock_int<T>(T(__shfl_sync(~0u, (long long)x.v, lane)));
}
template <class F> __device__ inline penstock_complex<F> penstock_of_lane(penstock_complex<F> x, int lane) {
    return penstock_complex<F>(__shfl_sync(~0u, x.re, lane), __shfl_sync(~0u, x.im, lane));
}

// Row `s` is made of the rows of `width` elements from `offsets[s]` up to `offsets[s + 1]`: a thread for each element.
extern "C" __global__ void penstock_fold_segments(E* out, const E* x, const int* offsets, const I n, const I width) {
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < n * width; t += I(gridDim.x) * blockDim.x) {
        const I column = t % width, segment = t / width;
        const int start = offsets[segment], end = offsets[segment + 1];
        A acc = fold::init();
        for (int i = start; i < end; ++i) acc = fold::join(acc, fold::load(x[I(i) * width + column]));
        if (start == end) penstock_store(out[t], penstock_none());
        else fold::finish(out[t], acc, (unsigned long long)(end - start));
    }
}

// As that, of single elements, which are added up as a run of so many is: a warp for each segment. Accumulators of 2^k blocks of 4,096
// elements wait in lane k for as many others.
extern "C" __global__ void penstock_fold_element_segments(E* out, const E* x, const int* offsets, const I n) {
    const I warps = I(gridDim.x) * (blockDim.x / 32);
    const int lane = threadIdx.x % 32;
    for (I segment = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; segment < n; segment += warps) {
        const int start = offsets[segment], count = offsets[segment + 1] - start;
        const E* const from = x + start;
        A acc = fold::init();
        if (count == 1) acc = fold::load(from[0]);
        else if (count < 32) for (int i = 0; i < count; ++i) acc = fold::join(acc, fold::load(from[i]));
        else {
            const int blocks = (count + 4095) / 4096;
            A kept = fold::init();
            for (int block = 0; block < blocks; ++block) {
                const int rest = count - block * 4096, end = block * 4096 + (rest < 4096 ? rest : 4096);
                acc = fold::init();
                #pragma unroll 8
                for (int i = block * 4096 + lane; i < end; i += 32) acc = fold::join(acc, fold::load(from[i]));
                for (int width = 16; width > 0; width /= 2) acc = fold::join(acc, penstock_of_lane(acc, (lane + width) % 32));
                acc = penstock_of_lane(acc, 0);
                int level = 0;
                for (; block >> level & 1; ++level) acc = fold::join(penstock_of_lane(kept, level), acc);
                if (lane == level) kept = acc;
            }
            bool is_first = true;
            for (int level = 0; blocks >> level; ++level) {
                if (!(blocks >> level & 1)) continue;
                const A own = penstock_of_lane(kept, level);
                acc = is_first ? own : fold::join(own, acc);
                is_first = false;
            }
        }
        if (lane == 0 && count == 0) penstock_store(out[segment], penstock_none());
        else if (lane == 0) fold::finish(out[segment], fold::join(fold::init(), acc), (unsigned long long)count);
    }
}
