// Random integers.

// Integers from `least` on, of a span that is 0 where all are asked for.
extern "C" __global__ void penstock_random_integers(
    E* out, const unsigned long long n, const unsigned long long key, const unsigned long long low, const unsigned long long high,
    const unsigned long long least, const unsigned long long span
) {
    const penstock_stream stream{key, low, high};
    PENSTOCK_GROUPS {
        const penstock_words w = stream.block(group);
        penstock_group<E> made;
        #pragma unroll
        for (int p = 0; p < PER; ++p) {
#if PER == 4
            const unsigned int bits = w.at[p], within = (unsigned int)span;
            made.at[p] = E((unsigned int)least + (within == 0 ? bits : bits % within));
#else
            const unsigned long long bits = w.at[2 * p] | (unsigned long long)w.at[2 * p + 1] << 32;
            made.at[p] = E(least + (span == 0 ? bits : bits % span));
#endif
        }
        penstock_give(out, n, group, made);
    }
}
