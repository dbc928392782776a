struct penstock_greater_exp_sub_select_and_1_more_body : penstock_checks {
    static __device__ f32 exp_of_f32(const f32 a0) {
        const bool s2 = (a0 < (-104.0f));
        const f32 s7 = (s2 ? 0.0f : ((90.5f < a0) ? 90.5f : a0));
        const f32 s10 = fma(s7, 1.442695f, 12582912.0f);
        const f32 s11 = (s10 - 12582912.0f);
        const f32 s15 = fma(s11, 0.00021219444f, fma(s11, (-0.6933594f), s7));
        const i32 s29 = (penstock_bits_of(s10) - i32(1262485504ll));
        const i32 s34 = penstock_shift_right((s29 + i32(2048ll)), 1);
        return (s2 ? 0.0f : (((fma(fma(fma(fma(fma(0.0013926484f, s15, 0.00836342f), s15, 0.041666552f), s15, 0.16666576f), s15, 0.5f), (s15 * s15), s15) + 1.0f) * penstock_float_of(penstock_shift_left((s34 + i32(-897ll)), 23))) * penstock_float_of(penstock_shift_left(((s29 - s34) + i32(1151ll)), 23))));
    }
    __device__ void operator()(const f32 a0, f32& r0) {
        const bool v0 = (0.0f < a0);  // greater
        const f32 v1 = exp_of_f32(a0);  // exp
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
