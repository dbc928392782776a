// Distinct elements. `V` is the element, `L` the type of positions. `sorted` has the elements in order, equal ones in that of their places,
// and `places` says where they were. NaN is equal to nothing.

__device__ inline bool penstock_same(const V& a, const V& b) { return penstock_load(a) == penstock_load(b); }

// For each of the sorted elements the first that is equal. Those that are first themselves are marked where they were.
extern "C" __global__ void penstock_find_heads(
    unsigned int* heads, unsigned char* marks, const V* sorted, const int* places, const unsigned int n
) {
    for (unsigned int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        const V own = sorted[at];
        unsigned int low = 0, high = at;
        while (low < high) {
            const unsigned int middle = low + (high - low) / 2;
            if (penstock_same(sorted[middle], own)) high = middle;
            else low = middle + 1;
        }
        heads[at] = low;
        marks[places[at]] = low == at;
    }
}

// The number of each element's kind, and how many there are of each.
extern "C" __global__ void penstock_number_kinds(
    L* kinds, L* counts, const V* sorted, const int* places, const unsigned int* heads, const unsigned int* numbers, const unsigned int n
) {
    for (unsigned int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        const unsigned int head = heads[at], kind = numbers[places[head]];
        kinds[places[at]] = L(kind);
        if (head != at) continue;
        // The first one behind that is of another kind.
        const V own = sorted[at];
        unsigned int low = at + 1, high = n;
        while (low < high) {
            const unsigned int middle = low + (high - low) / 2;
            if (penstock_same(sorted[middle], own)) low = middle + 1;
            else high = middle;
        }
        counts[kind] = L(low - at);
    }
}
