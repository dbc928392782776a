// What is counted of integers, and in what order they are.

// How often each integer from 0 to below `length` occurs in each row of `n`; `counts` are zeros at first.
extern "C" __global__ void penstock_count_values(
    unsigned long long* counts, const E* in, const I all, const I n, const unsigned long long length
) {
    for (I at = I(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += I(gridDim.x) * blockDim.x) {
        const unsigned long long value = (unsigned long long)in[at].v;
        if (value < length) atomicAdd(counts + (unsigned long long)(at / n) * length + value, 1ull);
    }
}

// The first of `n` integers that is negative or less than the one before, `first[0]`, which is at least `n` at first; and the last of them.
extern "C" __global__ void penstock_find_descent(unsigned long long* first, long long* last, const E* in, const I n) {
    for (I at = I(blockIdx.x) * blockDim.x + threadIdx.x; at < n; at += I(gridDim.x) * blockDim.x) {
        const E value = in[at];
        if (value < 0 || (at > 0 && value < in[at - 1])) atomicMin(first, (unsigned long long)at);
        if (at == n - 1) *last = (long long)value.v;
    }
}
