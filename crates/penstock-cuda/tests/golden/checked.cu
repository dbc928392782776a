struct penstock_floordiv_floormod_body : penstock_checks {
    __device__ void operator()(const i32 a0, const i32 a1, i32& r0, i32& r1) {
        site = 0;
        const i32 v0 = penstock_floor_div(a0, a1);  // floordiv
        site = 1;
        const i32 v1 = penstock_floor_mod(v0, a1);  // floormod
        penstock_store(r0, v0);
        penstock_store(r1, v1);
    }
};

extern "C" __global__ void penstock_floordiv_floormod(i32* p0, i32* p1, const i32* q0, const i32* q1, const penstock_index32 n, unsigned int* faults, const unsigned int first_site) {
    penstock_floordiv_floormod_body body;
    const penstock_index32 step = penstock_index32(gridDim.x) * blockDim.x;
    penstock_index32 i = penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (const penstock_index32 packs = n / 4; i < packs; i += step) {
        const penstock_pack<i32, 4> x0 = reinterpret_cast<const penstock_pack<i32, 4>*>(q0)[i];
        const penstock_pack<i32, 4> x1 = reinterpret_cast<const penstock_pack<i32, 4>*>(q1)[i];
        penstock_pack<i32, 4> y0;
        penstock_pack<i32, 4> y1;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            body(penstock_load(x0.at[k]), penstock_load(x1.at[k]), y0.at[k], y1.at[k]);
        }
        reinterpret_cast<penstock_pack<i32, 4>*>(p0)[i] = y0;
        reinterpret_cast<penstock_pack<i32, 4>*>(p1)[i] = y1;
    }
    i = n / 4 * 4 + penstock_index32(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += step) {
        body(penstock_load(q0[i]), penstock_load(q1[i]), p0[i], p1[i]);
    }
    body.report(faults, first_site);
}
