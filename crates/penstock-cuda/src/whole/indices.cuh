// Indices of kernels on whole tensors. `I` is the type of indices, `penstock_list` holds extents or steps.

// The offset of entry `at` of an index space, in row-major order.
template <int R> __device__ inline I penstock_offset(I at, const penstock_list<I, R>& dims, const penstock_list<I, R>& steps) {
    I offset = 0;
    #pragma unroll
    for (int axis = R - 1; axis > 0; --axis) {
        const I rest = at / dims.at[axis];
        offset += (at - rest * dims.at[axis]) * steps.at[axis];
        at = rest;
    }
    return offset + at * steps.at[0];
}
