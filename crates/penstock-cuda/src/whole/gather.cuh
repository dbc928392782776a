// Rows by index: of `E`, `width` elements each. Indices, of type `L`, are in range.

// Row `j` of block `o` of batch `b` is row `indices[b, j]` of that block.
extern "C" __global__ void penstock_gather(
    E* out, const E* in, const L* indices, const I batches, const I outer, const I n, const I count, const I width
) {
    const I step = I(gridDim.x) * blockDim.x, all = batches * outer * count * width;
    for (I i = I(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += step) {
        const I column = i % width, row = i / width, j = row % count, block = row / count;
        out[i] = in[(block * n + I(indices[block / outer * count + j])) * width + column];
    }
}
