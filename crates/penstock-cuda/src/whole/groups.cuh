// Reductions of rows in groups, in the order in which the groups name them. `fold` says what is joined; a group of none gives what nothing
// is, but for means, of which it gives 0.

typedef fold::E E;
typedef fold::A A;

// `x` is `batches` × `outer` blocks of `count` rows of `width` elements, the result as many blocks of `n`: row `g` of a block of batch `b`
// is made of the rows `rows[offsets[b n + g]]` up to `rows[offsets[b n + g + 1]]` of that block.
extern "C" __global__ void penstock_fold_groups(
    E* out, const E* x, const int* offsets, const int* rows, const I batches, const I outer, const I n, const I count, const I width
) {
    const I step = I(gridDim.x) * blockDim.x, all = batches * outer * n * width;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I column = t % width, g = t / width % n, block = t / width / n, batch = block / outer;
        const int start = offsets[batch * n + g], end = offsets[batch * n + g + 1];
        A acc = fold::init();
        for (int i = start; i < end; ++i) acc = fold::join(acc, fold::load(x[(block * count + I(rows[i])) * width + column]));
        fold::finish(out[t], acc, start == end ? 1 : (unsigned long long)(end - start));
    }
}
