// Sums over rows of what a kernel computes, in the order of reductions: 64 rows in sequence, such tiles in sequence within a part of
// `part` tiles, and parts in sequence. A block of threads has the elements of a tile, of 64 rows and `WIDTH` columns from `first` on, in
// shared memory.

// Adds up the columns of tile `at`: the results where there is no other, else entries of the table.
template <class E, class A, class I, int WIDTH> __device__ inline void penstock_sum_tile(
    E* out, volatile A* table, const A (&tile)[64][WIDTH], const I at, const I rows, const I columns, const I first
) {
    const I column = first + threadIdx.x, rest = rows - at * 64, end = rest < 64 ? rest : 64;
    if (threadIdx.x >= WIDTH || column >= columns) return;
    A sum = 0;
    #pragma unroll 8
    for (I r = 0; r < end; ++r) sum = sum + tile[r][threadIdx.x];
    if (rows <= 64) penstock_store(out[column], sum);
    else table[at * columns + column] = sum;
}

// Adds up the entries of the table for these columns.
template <class E, class A, class I> __device__ inline void penstock_sum_table(
    E* out, const volatile A* table, const int width, const I tiles, const I part, const I columns, const I first
) {
    const I column = first + threadIdx.x;
    if (threadIdx.x >= width || column >= columns) return;
    A total = 0;
    for (I start = 0; start < tiles; start += part) {
        const I end = start + part < tiles ? start + part : tiles;
        A sum = 0;
        #pragma unroll 8
        for (I t = start; t < end; ++t) sum = sum + table[t * columns + column];
        total = total + sum;
    }
    penstock_store(out[column], total);
}

// Whether all `count` blocks of threads have come here with this counter, which starts at 0 and is left so. No block waits for another.
__device__ inline bool penstock_is_last(unsigned int* counter, const unsigned int count, bool& last) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1u) == count - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

