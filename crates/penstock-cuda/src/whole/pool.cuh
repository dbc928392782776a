// The greatest elements and the means of windows, and their transposes; channels last. `E` is the element, `A` the type of computing.
// What lies in the padding takes no part. Sums are taken in the order of the outputs, as on the host.

__device__ inline float penstock_share(float sum, int count) { return sum / float(count); }
__device__ inline double penstock_share(double sum, int count) { return sum / double(count); }
// Integers have no means: nobody asks.
template <class T> __device__ inline penstock_int<T> penstock_share(penstock_int<T> sum, int) { return sum; }

struct penstock_axis { I input, window, output, stride, dilation, before; };
struct penstock_axes { penstock_axis at[3]; };

// The pixels of the input in the window of an output, along one dimension: from the first on, up to the last.
__device__ inline I penstock_first(const penstock_axis& d, I output) {
    const I start = output * d.stride;
    return start > d.before ? start - d.before : 0;
}
__device__ inline I penstock_last(const penstock_axis& d, I output) {
    const I end = output * d.stride + d.window;
    const I last = end > d.before ? end - d.before : 0;
    return last < d.input ? last : d.input;
}

// The outputs whose windows have a pixel, along one dimension.
__device__ inline I penstock_first_output(const penstock_axis& d, I input) {
    const I at = input + d.before;
    return at < d.window ? 0 : (at - d.window) / d.stride + 1;
}
__device__ inline I penstock_last_output(const penstock_axis& d, I input) {
    const I last = (input + d.before) / d.stride + 1;
    return last < d.output ? last : d.output;
}

#define PENSTOCK_POOL(extent) \
    const penstock_axis &d0 = axes.at[0], &d1 = axes.at[1], &d2 = axes.at[2]; \
    const I step = I(gridDim.x) * blockDim.x, all = images * d0.extent * d1.extent * d2.extent * channels; \
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += step)

#define PENSTOCK_PLACE(extent) \
    const I c = t % channels, pixel = t / channels, at2 = pixel % d2.extent, at1 = pixel / d2.extent % d1.extent; \
    const I at0 = pixel / d2.extent / d1.extent % d0.extent, image = pixel / d2.extent / d1.extent / d0.extent;

// For each pixel `i` of the input in the window of an output, in order.
#define PENSTOCK_WINDOW \
    for (I a = penstock_first(d0, at0), a_end = penstock_last(d0, at0); a < a_end; ++a) \
        for (I b = penstock_first(d1, at1), b_end = penstock_last(d1, at1); b < b_end; ++b) \
            for (I k = penstock_first(d2, at2), k_end = penstock_last(d2, at2), i = ((image * d0.input + a) * d1.input + b) * d2.input + k; \
                 k < k_end; ++k, ++i)

// For each output `o` whose window has a pixel of the input, in order.
#define PENSTOCK_OUTPUTS \
    for (I a = penstock_first_output(d0, at0), a_end = penstock_last_output(d0, at0); a < a_end; ++a) \
        for (I b = penstock_first_output(d1, at1), b_end = penstock_last_output(d1, at1); b < b_end; ++b) \
            for (I k = penstock_first_output(d2, at2), k_end = penstock_last_output(d2, at2), \
                 o = ((image * d0.output + a) * d1.output + b) * d2.output + k; k < k_end; ++k, ++o)

extern "C" __global__ void penstock_max_pool(E* y, const E* x, const I images, const I channels, const penstock_axes axes) {
    PENSTOCK_POOL(output) {
        PENSTOCK_PLACE(output)
        bool is_first = true;
        A best = A(0);
        PENSTOCK_WINDOW {
            const A value = penstock_load(x[i * channels + c]);
            if (is_first || value > best || value != value) best = value;
            is_first = false;
        }
        penstock_store(y[t], best);
    }
}

extern "C" __global__ void penstock_mean_pool(E* y, const E* x, const I images, const I channels, const penstock_axes axes) {
    PENSTOCK_POOL(output) {
        PENSTOCK_PLACE(output)
        A sum = A(0);
        int count = 0;
        PENSTOCK_WINDOW {
            sum = sum + penstock_load(x[i * channels + c]);
            ++count;
        }
        penstock_store(y[t], penstock_share(sum, count));
    }
}

extern "C" __global__ void penstock_mean_pool_grad(E* dx, const E* dy, const I images, const I channels, const penstock_axes axes) {
    PENSTOCK_POOL(input) {
        PENSTOCK_PLACE(input)
        A sum = A(0);
        PENSTOCK_OUTPUTS {
            const I count = (penstock_last(d0, a) - penstock_first(d0, a)) * (penstock_last(d1, b) - penstock_first(d1, b))
                * (penstock_last(d2, k) - penstock_first(d2, k));
            sum = sum + penstock_share(penstock_load(dy[o * channels + c]), int(count));
        }
        penstock_store(dx[t], sum);
    }
}

// The pixel of the greatest element of each window: the first of equal ones, and the first NaN.
extern "C" __global__ void penstock_max_places(I* places, const E* x, const I images, const I channels, const penstock_axes axes) {
    PENSTOCK_POOL(output) {
        PENSTOCK_PLACE(output)
        bool is_first = true;
        A best = A(0);
        I place = 0;
        PENSTOCK_WINDOW {
            const A value = penstock_load(x[i * channels + c]);
            if (is_first || value > best || (value != value && best == best)) {
                best = value;
                place = i;
            }
            is_first = false;
        }
        places[t] = place;
    }
}

extern "C" __global__ void penstock_take_max(
    E* y, const E* v, const I* places, const I images, const I channels, const penstock_axes axes
) {
    PENSTOCK_POOL(output) y[t] = v[places[t] * channels + t % channels];
}

extern "C" __global__ void penstock_give_max(
    E* dx, const E* dy, const I* places, const I images, const I channels, const penstock_axes axes
) {
    PENSTOCK_POOL(input) {
        PENSTOCK_PLACE(input)
        A sum = A(0);
        PENSTOCK_OUTPUTS if (places[o * channels + c] == pixel) sum = sum + penstock_load(dy[o * channels + c]);
        penstock_store(dx[t], sum);
    }
}
