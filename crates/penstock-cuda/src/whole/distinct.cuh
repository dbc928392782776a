// Elements `V` that are the first of their kind; see compact.cuh.

// Of elements that are the first of their kind, which `in` marks: the number of each among them, and they themselves.
extern "C" __global__ void penstock_write_distinct(
    V* out, unsigned int* numbers, const I* before, const E* in, const V* values, const I n, const I tiles
) {
    penstock_each_kept(before, in, n, tiles, [&](I place, I at) {
        numbers[at] = (unsigned int)place;
        out[place] = values[at];
    });
}
