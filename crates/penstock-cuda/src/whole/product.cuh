// Products of matrices of `E`, added up in `A` and stored as `R`. A block of 256 threads makes a tile of 64 by 64, of which each thread has 4 by 4.

__device__ inline float penstock_mad(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double penstock_mad(double a, double b, double c) { return fma(a, b, c); }
template <class T> __device__ inline penstock_int<T> penstock_mad(penstock_int<T> a, penstock_int<T> b, penstock_int<T> c) { return a * b + c; }

extern "C" __global__ void penstock_product(
    R* c, const E* a, const E* b, const I m, const I n, const I k, const I c_row, const I a_row, const I a_step, const I b_step, const I b_column,
    const I batches, const penstock_list<I, RANK> dims, const penstock_list<I, RANK> steps_c, const penstock_list<I, RANK> steps_a,
    const penstock_list<I, RANK> steps_b
) {
    __shared__ A left[16][65];
    __shared__ A right[16][65];
    const I tiles_m = (m + 63) / 64, tiles_n = (n + 63) / 64, all = batches * tiles_m * tiles_n;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (I tile = blockIdx.x; tile < all; tile += gridDim.x) {
        const I row = tile / tiles_n % tiles_m * 64, column = tile % tiles_n * 64, batch = tile / tiles_n / tiles_m;
        const E* const from_a = a + penstock_offset(batch, dims, steps_a);
        const E* const from_b = b + penstock_offset(batch, dims, steps_b);
        R* const to = c + penstock_offset(batch, dims, steps_c);
        A acc[4][4];
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) acc[i][j] = A(0);
        for (I at = 0; at < k; at += 16) {
            for (int t = threadIdx.x; t < 1024; t += 256) {
                // Neighbouring threads read neighbours.
                const int i = a_step == 1 ? t / 16 : t % 64, left_at = a_step == 1 ? t % 16 : t / 64;
                left[left_at][i] = row + i < m && at + left_at < k
                    ? A(penstock_load(from_a[(row + i) * a_row + (at + left_at) * a_step])) : A(0);
                const int j = b_column == 1 ? t % 64 : t / 16, right_at = b_column == 1 ? t / 64 : t % 16;
                right[right_at][j] = column + j < n && at + right_at < k
                    ? A(penstock_load(from_b[(at + right_at) * b_step + (column + j) * b_column])) : A(0);
            }
            __syncthreads();
            for (int s = 0; s < 16; ++s) {
                for (int i = 0; i < 4; ++i)
                    for (int j = 0; j < 4; ++j) acc[i][j] = penstock_mad(left[s][y * 4 + i], right[s][x + 16 * j], acc[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) {
                const I r = row + y * 4 + i, s = column + x + 16 * j;
                if (r < m && s < n) penstock_store(to[r * c_row + s], acc[i][j]);
            }
    }
}
