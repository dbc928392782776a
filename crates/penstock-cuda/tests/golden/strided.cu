struct penstock_add_mul_body : penstock_checks {
    __device__ void operator()(const f32 a0, const f32 a1, f16& r0) {
        const f32 v0 = penstock_round_to<f16>((a0 + a1));  // add
        const f32 v1 = penstock_round_to<f16>((v0 * v0));  // mul
        penstock_store(r0, v1);
    }
};

extern "C" __global__ void penstock_add_mul(f16* p0, const f16* q0, const f16* q1, const penstock_index32 n, const penstock_list<penstock_index32, 2> dims, const penstock_list<penstock_index32, 2> s1) {
    penstock_add_mul_body body;
    const penstock_index32 step = penstock_index32(gridDim.x) * blockDim.x;
    penstock_index32 i = penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (const penstock_index32 packs = n / 8; i < packs; i += step) {
        penstock_index32 rest = i;
        penstock_index32 o1 = 0;
        #pragma unroll
        for (int axis = 1; axis > 0; --axis) {
            const penstock_index32 outer = rest / dims.at[axis], c = rest - outer * dims.at[axis];
            o1 += c * s1.at[axis];
            rest = outer;
        }
        o1 += rest * s1.at[0];
        const penstock_pack<f16, 8> x0 = reinterpret_cast<const penstock_pack<f16, 8>*>(q0)[i];
        const penstock_pack<f16, 8> x1 = reinterpret_cast<const penstock_pack<f16, 8>*>(q1)[o1];
        penstock_pack<f16, 8> y0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            body(penstock_load(x0.at[k]), penstock_load(x1.at[k]), y0.at[k]);
        }
        reinterpret_cast<penstock_pack<f16, 8>*>(p0)[i] = y0;
    }
}
