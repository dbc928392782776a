// Elements that are kept of many, in their order: those of a tile, 1,024 elements, are counted, the counts of the tiles before are added
// up, and each element finds its place. A warp for each tile.
//
// `E` is the element. What is not zero is kept.

#define TILE 1024

__device__ inline bool penstock_kept(const E& x) { return penstock_load(x) != 0; }

#define PENSTOCK_TILES \
    const I warps = I(gridDim.x) * (blockDim.x / 32); \
    const int lane = threadIdx.x % 32; \
    for (I tile = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; tile < tiles; tile += warps)

// How many of each tile are kept. Behind those of the tiles there is a 0, so that all of them are what is before it.
extern "C" __global__ void penstock_count_kept(I* counts, const E* in, const I n, const I tiles) {
    PENSTOCK_TILES {
        I count = 0;
        for (int i = 0; i < TILE; i += 32) {
            const I at = tile * TILE + i + lane;
            count += I(__popc(__ballot_sync(~0u, at < n && penstock_kept(in[at]))));
        }
        if (lane == 0) counts[tile] = count;
        if (tile == 0 && lane == 1) counts[tiles] = 0;
    }
}

// Calls `put` with the place of each element that is kept, and where it is.
template <class F> __device__ inline void penstock_each_kept(const I* before, const E* in, const I n, const I tiles, F put) {
    PENSTOCK_TILES {
        I place = before[tile];
        for (int i = 0; i < TILE; i += 32) {
            const I at = tile * TILE + i + lane;
            const bool kept = at < n && penstock_kept(in[at]);
            const unsigned int votes = __ballot_sync(~0u, kept);
            if (kept) put(place + I(__popc(votes & ((1u << lane) - 1u))), at);
            place += I(__popc(votes));
        }
    }
}
