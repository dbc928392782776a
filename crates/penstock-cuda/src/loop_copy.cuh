// Copies the next values of variables to the places of these. No place is one of another variable's next value.
extern "C" __global__ void penstock_loop_copy(
    const penstock_list<unsigned long long, COPIES> to, const penstock_list<unsigned long long, COPIES> from,
    const penstock_list<unsigned long long, COPIES> bytes
) {
    typedef unsigned long long word;
    const word first = word(blockIdx.x) * blockDim.x + threadIdx.x, step = word(gridDim.x) * blockDim.x;
    for (int i = 0; i < COPIES; ++i) {
        const word words = bytes.at[i] / sizeof(word), rest = bytes.at[i] % sizeof(word);
        for (word at = first; at < words; at += step) ((word*)to.at[i])[at] = ((const word*)from.at[i])[at];
        const word behind = words * sizeof(word) + first;
        if (first < rest) ((unsigned char*)to.at[i])[behind] = ((const unsigned char*)from.at[i])[behind];
    }
}

// Fills memory with a byte.
extern "C" __global__ void penstock_loop_fill(unsigned char* to, const unsigned int byte, const unsigned long long bytes) {
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x; at < bytes; at += step) to[at] = (unsigned char)byte;
}
