// Random numbers by Philox4x32-10 (Salmon et al., 2011): a thread for each group of `PER` numbers. `E` is the element.

struct penstock_words { unsigned int at[4]; };

// A key, and the counter of the first block.
struct penstock_stream {
    unsigned long long key, low, high;

    // Block `index` of the stream.
    __device__ penstock_words block(unsigned long long index) const {
        const unsigned long long at = low + index, top = high + (at < low);
        unsigned int c0 = (unsigned int)at, c1 = (unsigned int)(at >> 32), c2 = (unsigned int)top, c3 = (unsigned int)(top >> 32);
        unsigned int k0 = (unsigned int)key, k1 = (unsigned int)(key >> 32);
        #pragma unroll
        for (int i = 0; i < 10; ++i) {
            const unsigned long long p0 = c0 * 0xd2511f53ull, p1 = c2 * 0xcd9e8d57ull;
            c0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0;
            c1 = (unsigned int)p1;
            c2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;
            c3 = (unsigned int)p0;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        return penstock_words{{c0, c1, c2, c3}};
    }
};

// Numbers of one block.
template <class T> struct penstock_group { T at[PER]; };

// Writes the numbers of a group, of which the last may be fewer.
template <class T> __device__ void penstock_give(E* out, unsigned long long n, unsigned long long group, const penstock_group<T>& made) {
    if ((group + 1) * PER <= n) {
        penstock_pack<E, PER> all;
        #pragma unroll
        for (int p = 0; p < PER; ++p) penstock_store(all.at[p], made.at[p]);
        reinterpret_cast<penstock_pack<E, PER>*>(out)[group] = all;
    } else {
        for (int p = 0; p < PER; ++p)
            if (group * PER + p < n) penstock_store(out[group * PER + p], made.at[p]);
    }
}

#define PENSTOCK_GROUPS \
    const unsigned long long groups = (n + PER - 1) / PER, step = (unsigned long long)gridDim.x * blockDim.x; \
    for (unsigned long long group = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; group < groups; group += step)
