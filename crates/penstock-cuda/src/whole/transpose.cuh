// A copy whose elements lie side by side along dimension `a` where they come from, and along `b` where they go. A block of 256 threads
// takes a tile of 32 by 32, which is read along the one and written along the other.

extern "C" __global__ void penstock_transpose(
    E* to, const E* from, const I first, const I target, const I a, const I b, const I a_to, const I b_from, const I outer,
    const penstock_list<I, RANK> dims, const penstock_list<I, RANK> steps_from, const penstock_list<I, RANK> steps_to
) {
    __shared__ E tile[32][33];
    const I tiles_a = (a + 31) / 32, tiles_b = (b + 31) / 32, all = outer * tiles_a * tiles_b;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (I t = blockIdx.x; t < all; t += gridDim.x) {
        const I at_a = t % tiles_a * 32, at_b = t / tiles_a % tiles_b * 32, at = t / tiles_a / tiles_b;
        const I source = first + penstock_offset(at, dims, steps_from), place = target + penstock_offset(at, dims, steps_to);
        for (int k = y; k < 32; k += 8)
            if (at_a + x < a && at_b + k < b) tile[k][x] = from[source + at_a + x + (at_b + k) * b_from];
        __syncthreads();
        for (int k = y; k < 32; k += 8)
            if (at_b + x < b && at_a + k < a) to[place + at_b + x + (at_a + k) * a_to] = tile[x][k];
        __syncthreads();
    }
}
