// Random floats. `A` is the type of computing, `functions` has the host's `radius`, `sine` and `cosine`.

__device__ inline float penstock_unit32(unsigned int w) { return penstock_f32_of_bits((w & 0x7fffffu) | 0x3f800000u) - 1.0f; }
__device__ inline double penstock_unit64(unsigned int a, unsigned int b) {
    const unsigned long long bits = (unsigned long long)(a & 0xfffffu) << 32 | b;
    return penstock_f64_of_bits(bits | 0x3ff0000000000000ull) - 1.0;
}

// Uniform floats, each type of the bits that it has.
__device__ inline float penstock_uniform(const f16&, unsigned int w, unsigned int) { return float(w & 0x3ffu) / 1024.0f; }
__device__ inline float penstock_uniform(const bf16&, unsigned int w, unsigned int) { return float(w & 0x7fu) / 128.0f; }
__device__ inline float penstock_uniform(const f32&, unsigned int w, unsigned int) { return penstock_unit32(w); }
__device__ inline double penstock_uniform(const f64&, unsigned int a, unsigned int b) { return penstock_unit64(a, b); }

extern "C" __global__ void penstock_random_uniform(
    E* out, const unsigned long long n, const unsigned long long key, const unsigned long long low, const unsigned long long high
) {
    const penstock_stream stream{key, low, high};
    PENSTOCK_GROUPS {
        const penstock_words w = stream.block(group);
        penstock_group<A> made;
        #pragma unroll
        for (int p = 0; p < PER; ++p) made.at[p] = penstock_uniform(out[0], w.at[p * 4 / PER], w.at[p * 4 / PER + (PER == 2)]);
        penstock_give(out, n, group, made);
    }
}

// The normals of a block: two of a radius and an angle.
__device__ inline penstock_group<A> penstock_normals(const penstock_words& w) {
    penstock_group<A> made;
    #pragma unroll
    for (int p = 0; p < PER; p += 2) {
#if PER == 4
        const A u = penstock_unit32(w.at[p]), v = penstock_unit32(w.at[p + 1]);
#else
        const A u = penstock_unit64(w.at[0], w.at[1]), v = penstock_unit64(w.at[2], w.at[3]);
#endif
        const A radius = functions::radius(u);
        made.at[p] = functions::sine(v) * radius;
        made.at[p + 1] = functions::cosine(v) * radius;
    }
    return made;
}

extern "C" __global__ void penstock_random_normal(
    E* out, const unsigned long long n, const unsigned long long key, const unsigned long long low, const unsigned long long high
) {
    const penstock_stream stream{key, low, high};
    PENSTOCK_GROUPS penstock_give(out, n, group, penstock_normals(stream.block(group)));
}

// The first numbers of magnitudes below 2 that the blocks of a group give. It has `tries` of them before the next group's begin.
extern "C" __global__ void penstock_random_truncated(
    E* out, const unsigned long long n, const unsigned long long key, const unsigned long long low, const unsigned long long high,
    const unsigned int tries
) {
    const penstock_stream stream{key, low, high};
    PENSTOCK_GROUPS {
        penstock_group<A> made;
        int count = 0;
        for (unsigned long long block = group * tries; count < PER; ++block) {
            const penstock_group<A> drawn = penstock_normals(stream.block(block));
            #pragma unroll
            for (int p = 0; p < PER; ++p) {
                const A x = drawn.at[p];
                #pragma unroll
                for (int q = 0; q < PER; ++q)
                    if (q == count && fabs(x) < A(2)) made.at[q] = x;
                if (fabs(x) < A(2)) ++count;
            }
        }
        penstock_give(out, n, group, made);
    }
}
