// Ranges. `E` is the element.

#define PENSTOCK_EACH \
    for (I at = I(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += I(gridDim.x) * blockDim.x)

// Integers wrap; floats are computed in 64 bits and rounded once.
template <class T> __device__ inline penstock_int<T> penstock_step(penstock_int<T> start, penstock_int<T> step, unsigned long long i) {
    return start + penstock_int<T>(i) * step;
}
template <class T> __device__ inline auto penstock_step(const T& start, const T& step, unsigned long long i) -> decltype(penstock_load(start)) {
    return penstock_cast<T>(double(penstock_load(start)) + double(i) * double(penstock_load(step)));
}

// `start`, then each `step` further.
extern "C" __global__ void penstock_range(E* out, const E* start, const E* step, const I all) {
    const E first = *start, by = *step;
    PENSTOCK_EACH penstock_store(out[at], penstock_step(first, by, at));
}
