// What ends a loop of the device.

extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

// Tells the graph whether the loop goes on: where the condition holds, no launch has met a fault, and nobody wants the loop to end. Places of
// faults that are 0 are none.
extern "C" __global__ void penstock_loop_test(
    const unsigned char* condition, const unsigned int* stop, const penstock_list<unsigned long long, FAULTS> faults,
    const unsigned long long handle
) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    unsigned int goes_on = *condition != 0 && *(const volatile unsigned int*)stop == 0;
    for (int i = 0; i < FAULTS; ++i) {
        if (faults.at[i] != 0 && *(const unsigned int*)faults.at[i] != NO_FAULT) goes_on = 0;
    }
    cudaGraphSetConditional(handle, goes_on);
}
