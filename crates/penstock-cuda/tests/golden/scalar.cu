struct penstock_sub_less_body : penstock_checks {
    __device__ void operator()(const i64 a0, const i64 a1, i64& r0, b8& r1, i64& r2) {
        const i64 v0 = (a0 - a1);  // sub
        const bool v1 = (a0 < a1);  // less
        penstock_store(r0, v0);
        penstock_store(r1, v1);
        penstock_store(r2, a1);
    }
};

extern "C" __global__ void penstock_sub_less(i64* p0, b8* p1, i64* p2, const i64* q0, const i64* q1, const penstock_index64 n) {
    penstock_sub_less_body body;
    const i64 x1 = penstock_load(*q1);
    const penstock_index64 step = penstock_index64(gridDim.x) * blockDim.x;
    penstock_index64 i = penstock_index64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (const penstock_index64 packs = n / 2; i < packs; i += step) {
        const penstock_pack<i64, 2> x0 = reinterpret_cast<const penstock_pack<i64, 2>*>(q0)[i];
        penstock_pack<i64, 2> y0;
        penstock_pack<b8, 2> y1;
        penstock_pack<i64, 2> y2;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            body(penstock_load(x0.at[k]), x1, y0.at[k], y1.at[k], y2.at[k]);
        }
        reinterpret_cast<penstock_pack<i64, 2>*>(p0)[i] = y0;
        reinterpret_cast<penstock_pack<b8, 2>*>(p1)[i] = y1;
        reinterpret_cast<penstock_pack<i64, 2>*>(p2)[i] = y2;
    }
    i = n / 2 * 2 + penstock_index64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += step) {
        body(penstock_load(q0[i]), x1, p0[i], p1[i], p2[i]);
    }
}
