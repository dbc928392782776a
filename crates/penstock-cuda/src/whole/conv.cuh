// What convolutions are made of beside products: `PATCHES` rows, one for each pixel of the result, of what its window meets, for each group
// the channels of each element of the window; and the way back. `E` is the stored element, `A` the type in which a patch is stored on
// the way back. Patches are copied as `P`, some neighbouring channels; on the way back a thread takes `PACK` of them. Channels count such.

struct penstock_axis { I input, window, output, stride, dilation, before; };
struct penstock_axes { penstock_axis at[3]; };

// The pixel of the image that an element of the window of an output meets, along one dimension; false where it is in the padding.
__device__ inline bool penstock_meets(const penstock_axis& axis, I output, I window, I& input) {
    input = output * axis.stride + window * axis.dilation - axis.before;
    return input < axis.input;
}

// Indices wrap, so that a pixel before the first is beyond the last.
extern "C" __global__ void penstock_patches(
    P* patches, const P* x, const I pixels, const I groups, const I channels, const penstock_axes axes
) {
    const penstock_axis &d0 = axes.at[0], &d1 = axes.at[1], &d2 = axes.at[2];
    const I window = d0.window * d1.window * d2.window, all = pixels * groups * window * channels;
    const I step = I(gridDim.x) * blockDim.x;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I c = t % channels, w = t / channels % window, g = t / channels / window % groups, p = t / channels / window / groups;
        const I o2 = p % d2.output, o1 = p / d2.output % d1.output, o0 = p / d2.output / d1.output % d0.output;
        const I image = p / d2.output / d1.output / d0.output;
        I i0, i1, i2;
        const bool inside = penstock_meets(d0, o0, w / d2.window / d1.window, i0)
            & penstock_meets(d1, o1, w / d2.window % d1.window, i1) & penstock_meets(d2, o2, w % d2.window, i2);
        const P zero = {};
        patches[t] = inside ? x[((((image * d0.input + i0) * d1.input + i1) * d2.input + i2) * groups + g) * channels + c] : zero;
    }
}

// The output whose window has a pixel as its element `window`, along one dimension; false where there is none.
__device__ inline bool penstock_met_by(const penstock_axis& axis, I input, I window, I& output) {
    const I at = input + axis.before - window * axis.dilation;
    output = at / axis.stride;
    return input + axis.before >= window * axis.dilation && at % axis.stride == 0 && output < axis.output;
}

// The sum of what the patches have of each element of the images, in the order of the window.
extern "C" __global__ void penstock_unpatch(
    E* dx, const A* patches, const I images, const I groups, const I channels, const penstock_axes axes
) {
    const penstock_axis &d0 = axes.at[0], &d1 = axes.at[1], &d2 = axes.at[2];
    const I window = d0.window * d1.window * d2.window, all = images * d0.input * d1.input * d2.input * groups * channels;
    const I step = I(gridDim.x) * blockDim.x;
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step) {
        const I c = t % channels, g = t / channels % groups, pixel = t / channels / groups;
        const I i2 = pixel % d2.input, i1 = pixel / d2.input % d1.input, i0 = pixel / d2.input / d1.input % d0.input;
        const I image = pixel / d2.input / d1.input / d0.input;
        typedef penstock_pack<A, PACK> S;
        A sum[PACK];
        for (int i = 0; i < PACK; ++i) sum[i] = A(0);
        for (I w = 0; w < window; ++w) {
            I o0, o1, o2;
            if (!penstock_met_by(d0, i0, w / d2.window / d1.window, o0) || !penstock_met_by(d1, i1, w / d2.window % d1.window, o1)
                || !penstock_met_by(d2, i2, w % d2.window, o2)) continue;
            const I p = ((image * d0.output + o0) * d1.output + o1) * d2.output + o2;
            const S part = reinterpret_cast<const S*>(patches)[((p * groups + g) * window + w) * channels + c];
            for (int i = 0; i < PACK; ++i) sum[i] = sum[i] + part.at[i];
        }
        for (int i = 0; i < PACK; ++i) penstock_store(dx[t * PACK + i], sum[i]);
    }
}
