// Elements of `E` that go from one place to another. Steps may be negative: indices wrap, and offsets are those of elements.

extern "C" __global__ void penstock_copy(
    E* to, const E* from, const I n, const I first, const I target, const penstock_list<I, RANK> dims,
    const penstock_list<I, RANK> steps_from, const penstock_list<I, RANK> steps_to
) {
    const I step = I(gridDim.x) * blockDim.x;
    for (I i = I(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        to[target + penstock_offset(i, dims, steps_to)] = from[first + penstock_offset(i, dims, steps_from)];
}
