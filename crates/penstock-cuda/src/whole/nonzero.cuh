// Places of what is not zero, in an array of `RANK` dimensions; see compact.cuh.

// The indices of each element that is kept, a row each, in an array of extents `dims`.
extern "C" __global__ void penstock_write_indices(
    long long* out, const I* before, const E* in, const I n, const I tiles, const penstock_list<I, RANK> dims
) {
    penstock_each_kept(before, in, n, tiles, [&](I place, I at) {
        long long* const to = out + place * RANK;
        #pragma unroll
        for (int axis = RANK - 1; axis > 0; --axis) {
            const I rest = at / dims.at[axis];
            to[axis] = (long long)(at - rest * dims.at[axis]);
            at = rest;
        }
        to[0] = (long long)at;
    });
}
