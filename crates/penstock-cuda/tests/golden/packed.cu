struct penstock_greater_exp_sub_select_and_1_more_body : penstock_checks {
    __device__ void operator()(const f32 a0, f32& r0) {
        const bool v0 = (a0 > 0.0f);  // greater
        const f32 v1 = exp(a0);  // exp
        const f32 v2 = (v1 - 1.0f);  // sub
        const f32 v3 = (v0 ? a0 : v2);  // select
        const f32 v4 = (v3 * 1.050701f);  // mul
        penstock_store(r0, v4);
    }
};

extern "C" __global__ void penstock_greater_exp_sub_select_and_1_more(f32* p0, const f32* q0, const penstock_index32 n) {
    penstock_greater_exp_sub_select_and_1_more_body body;
    const penstock_index32 step = penstock_index32(gridDim.x) * blockDim.x;
    penstock_index32 i = penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (const penstock_index32 packs = n / 4; i < packs; i += step) {
        const penstock_pack<f32, 4> x0 = reinterpret_cast<const penstock_pack<f32, 4>*>(q0)[i];
        penstock_pack<f32, 4> y0;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            body(penstock_load(x0.at[k]), y0.at[k]);
        }
        reinterpret_cast<penstock_pack<f32, 4>*>(p0)[i] = y0;
    }
    i = n / 4 * 4 + penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += step) {
        body(penstock_load(q0[i]), p0[i]);
    }
}
