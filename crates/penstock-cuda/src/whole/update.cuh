// Rows of `width` elements `E` that others are combined into. `penstock_joined` says what a row has after an update; where `OVERWRITES`, the
// last update is all that stays.

// Update `which[p]` goes into row `into[p]`, an `L`; those of one row are next to each other. The thread of the first one takes them all.
extern "C" __global__ void penstock_update_rows(
    E* out, const E* updates, const L* into, const int* which, const I count, const I width
) {
    const I step = I(gridDim.x) * blockDim.x, all = count * width;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I column = t % width, first = t / width;
        const L row = into[first];
        if (OVERWRITES ? first + 1 < count && into[first + 1] == row : first > 0 && into[first - 1] == row) continue;
        E* const to = out + I(row) * width + column;
        E value = *to;
        for (I p = first; p < count && into[p] == row; ++p) value = penstock_joined(value, updates[I(which[p]) * width + column]);
        *to = value;
    }
}
