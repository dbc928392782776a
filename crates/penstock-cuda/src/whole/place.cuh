// Elements that follow from where they are. `E` is the element.

#define PENSTOCK_EACH \
    for (I at = I(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += I(gridDim.x) * blockDim.x)

// Matrices of `m` rows of `n`: zeros but for the elements at most `lower` diagonals below the main one and `upper` above it.
extern "C" __global__ void penstock_band(E* out, const E* in, const I all, const I m, const I n, const I lower, const I upper) {
    PENSTOCK_EACH {
        const I column = at % n, row = at / n % m;
        out[at] = column + lower >= row && column <= row + upper ? in[at] : E{};
    }
}

// `on` where the place along the middle axis, of `depth`, is the index, which is an `L`; else `off`.
extern "C" __global__ void penstock_one_hot(
    E* out, const L* indices, const E* on, const E* off, const I all, const I depth, const I inner
) {
    const E one = *on, other = *off;
    PENSTOCK_EACH {
        const I i = at % inner, d = at / inner % depth, o = at / inner / depth;
        const L index = indices[o * inner + i];
        out[at] = index >= 0 && (unsigned long long)index == d ? one : other;
    }
}
