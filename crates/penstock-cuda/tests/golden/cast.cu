struct penstock_cast_cast_cast_body : penstock_checks {
    __device__ void operator()(const f64 a0, bf16& r0, i8& r1, b8& r2) {
        const f32 v0 = penstock_round_to<bf16>(penstock_cast<bf16>(a0));  // cast
        const i8 v1 = penstock_cast<i8>(a0);  // cast
        const bool v2 = penstock_cast<b8>(a0);  // cast
        penstock_store(r0, v0);
        penstock_store(r1, v1);
        penstock_store(r2, v2);
    }
};

extern "C" __global__ void penstock_cast_cast_cast(bf16* p0, i8* p1, b8* p2, const f64* q0, const penstock_index32 n) {
    penstock_cast_cast_cast_body body;
    const penstock_index32 step = penstock_index32(gridDim.x) * blockDim.x;
    penstock_index32 i = penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (const penstock_index32 packs = n / 2; i < packs; i += step) {
        const penstock_pack<f64, 2> x0 = reinterpret_cast<const penstock_pack<f64, 2>*>(q0)[i];
        penstock_pack<bf16, 2> y0;
        penstock_pack<i8, 2> y1;
        penstock_pack<b8, 2> y2;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            body(penstock_load(x0.at[k]), y0.at[k], y1.at[k], y2.at[k]);
        }
        reinterpret_cast<penstock_pack<bf16, 2>*>(p0)[i] = y0;
        reinterpret_cast<penstock_pack<i8, 2>*>(p1)[i] = y1;
        reinterpret_cast<penstock_pack<b8, 2>*>(p2)[i] = y2;
    }
    i = n / 2 * 2 + penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += step) {
        body(penstock_load(q0[i]), p0[i], p1[i], p2[i]);
    }
}
