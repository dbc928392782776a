// The first elements of rows in the order of their keys, equal ones in that of their places. A row has `n` elements, `inner` apart; `E` is
// the element, `L` the type of positions. `NAN_FIRST` and `DESCENDING` say which order it is.

// Elements of short rows that a block of threads sorts at once.
#define SHORT 2048
// Elements of a part of a long row, which a block of threads takes at a time.
#define PER_THREAD (sizeof(E) == 8 ? 8 : 16)
#define TILE (256 * PER_THREAD)
// Elements of which a warp finds the first.
#define STRETCH 4096

// A key has the bits of the element; keys are in the order of the elements.
typedef penstock_unsigned<sizeof(E)>::type K;
#define KEY_BITS (int(sizeof(E)) * 8)
#define KEY_MASK (K(~K(0)) >> (int(sizeof(K)) * 8 - KEY_BITS))

template <class T> __device__ inline K penstock_ordered(penstock_int<T> x) {
    const K bits = K(x.v) & KEY_MASK;
    return penstock_int<T>::is_signed ? bits ^ K(1) << (KEY_BITS - 1) : bits;
}
// -0 has the key of 0. Infinity is `exponent`, beyond which all is NaN.
__device__ inline K penstock_ordered_float(K bits, K exponent) {
    const K sign = K(1) << (KEY_BITS - 1);
    if ((bits & ~sign) > exponent) return NAN_FIRST ? K(0) : KEY_MASK;
    return bits == sign ? sign : bits & sign ? ~bits & KEY_MASK : bits | sign;
}
__device__ inline K penstock_ordered(f16 x) { return penstock_ordered_float(x.bits, 0x7c00u); }
__device__ inline K penstock_ordered(bf16 x) { return penstock_ordered_float(x.bits, 0x7f80u); }
__device__ inline K penstock_ordered(float x) { return penstock_ordered_float(K(penstock_bits_of_f32(x)), 0x7f800000u); }
__device__ inline K penstock_ordered(double x) { return penstock_ordered_float(K(penstock_bits_of_f64(x)), K(0x7ff0000000000000ull)); }
__device__ inline K penstock_key(const E& x) {
    const K key = penstock_ordered(x);
    return DESCENDING ? ~key & KEY_MASK : key;
}

// The element of a key, where no two elements have the same: of integers.
template <class T> __device__ inline void penstock_element(K key, penstock_int<T>& out) {
    const K bits = DESCENDING ? ~key & KEY_MASK : key;
    out = penstock_int<T>(T(penstock_int<T>::is_signed ? bits ^ K(1) << (KEY_BITS - 1) : bits));
}
template <class T> __device__ inline void penstock_element(K, T&) {}

// Where the first element of a row is among rows of `n`.
__device__ inline I penstock_row_start(I row, I n, I inner) { return row / inner * n * inner + row % inner; }

// Writes what was asked for of element `rank` of the order of a row.
__device__ inline void penstock_selected(E* elements, L* positions, const E* in, I row, I rank, I position, I n, I k, I inner) {
    const I to = penstock_row_start(row, k, inner) + rank * inner;
    if (elements != nullptr) elements[to] = in[penstock_row_start(row, n, inner) + position * inner];
    if (positions != nullptr) positions[to] = L(position);
}

// Rows of at most `SHORT` elements, as many side by side as there is room for: each has `room`, a power of 2 that is not below `n`. They are
// sorted by Batcher's bitonic network.
extern "C" __global__ void penstock_select_short(
    E* elements, L* positions, const E* in, const I rows, const I n, const I k, const I inner, const I room
) {
    __shared__ K keys[SHORT];
    __shared__ unsigned int places[SHORT];
    const I at_once = SHORT / room;
    for (I first = blockIdx.x * at_once; first < rows; first += gridDim.x * at_once) {
        for (I s = threadIdx.x; s < SHORT; s += blockDim.x) {
            const I row = first + s / room, i = s % room;
            const bool is_there = row < rows && i < n;
            // What is not there comes last: its place is beyond all others.
            keys[s] = is_there ? penstock_key(in[penstock_row_start(row, n, inner) + i * inner]) : ~K(0);
            places[s] = is_there ? (unsigned int)i : ~0u;
        }
        __syncthreads();
        for (I size = 2; size <= room; size *= 2) {
            for (I stride = size / 2; stride > 0; stride /= 2) {
                for (I p = threadIdx.x; p < SHORT / 2; p += blockDim.x) {
                    const I i = 2 * p - (p & (stride - 1)), j = i + stride;
                    const bool ascends = (i & (room - 1) & size) == 0;
                    const K a = keys[i], b = keys[j];
                    const unsigned int at = places[i], other = places[j];
                    const bool is_behind = a > b || (a == b && at > other);
                    if (is_behind == ascends) {
                        keys[i] = b;
                        keys[j] = a;
                        places[i] = other;
                        places[j] = at;
                    }
                }
                __syncthreads();
            }
        }
        for (I s = threadIdx.x; s < SHORT; s += blockDim.x) {
            const I row = first + s / room, rank = s % room;
            if (row < rows && rank < k) penstock_selected(elements, positions, in, row, rank, places[s], n, k, inner);
        }
        __syncthreads();
    }
}

// --- the first one -----------------------------------------------------------------------------

// An element that may be the first.
struct penstock_candidate {
    K key;
    I place;
    // What comes behind is the first only where its key is below.
    __device__ void meet_next(K other, I at) {
        if (other < key) {
            key = other;
            place = at;
        }
    }
    __device__ void meet(K other, I at) {
        if (other < key || (other == key && at < place)) {
            key = other;
            place = at;
        }
    }
    // The first of those of a warp, in lane 0.
    __device__ void meet_lanes() {
        for (int width = 16; width > 0; width /= 2) {
            const K other = __shfl_down_sync(~0u, key, width);
            const I at = __shfl_down_sync(~0u, place, width);
            meet(other, at);
        }
    }
};

// The first element of each stretch of each row: a warp for one of neighbours, else a thread. That of a row of one stretch is the result.
extern "C" __global__ void penstock_first_of_stretches(
    E* elements, L* positions, K* keys, I* places, const E* in, const I all, const I n, const I inner, const I stretches
) {
    const bool staged = inner == 1;
    const int lane = staged ? threadIdx.x % 32 : 0;
    const I width = staged ? 32 : 1;
    for (I t = (I(blockIdx.x) * blockDim.x + threadIdx.x) / width; t < all; t += I(gridDim.x) * blockDim.x / width) {
        const I line = t / inner, row = line / stretches * inner + t % inner;
        const I from = line % stretches * STRETCH, end = n - from < STRETCH ? n : from + STRETCH;
        const E* const own = in + penstock_row_start(row, n, inner);
        penstock_candidate best = {KEY_MASK, from + lane < end ? from + lane : ~I(0)};
        #pragma unroll 8
        for (I i = from + lane; i < end; i += width) best.meet_next(penstock_key(own[i * inner]), i);
        if (staged) best.meet_lanes();
        if (lane == 0 && stretches == 1) {
            penstock_selected(elements, positions, in, row, 0, best.place, n, 1, inner);
        } else if (lane == 0) {
            keys[t] = best.key;
            places[t] = best.place;
        }
    }
}

// The first element of each row, of those of its stretches: a warp for each.
extern "C" __global__ void penstock_first_of_rows(
    E* elements, L* positions, const E* in, const K* keys, const I* places, const I rows, const I n, const I inner, const I stretches
) {
    const int lane = threadIdx.x % 32;
    for (I row = I(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += I(gridDim.x) * (blockDim.x / 32)) {
        const I start = penstock_row_start(row, stretches, inner);
        penstock_candidate best = {KEY_MASK, ~I(0)};
        for (I s = lane; s < stretches; s += 32) best.meet(keys[start + s * inner], places[start + s * inner]);
        best.meet_lanes();
        if (lane == 0) penstock_selected(elements, positions, in, row, 0, best.place, n, 1, inner);
    }
}

// --- long rows: by digits of 8 bits, the lowest first ------------------------------------------

// The keys of the elements, row by row, and their places in the rows, where somebody asks for them.
extern "C" __global__ void penstock_keys(K* keys, unsigned int* places, const E* in, const I all, const I n, const I inner) {
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += I(gridDim.x) * blockDim.x) {
        const I i = t % n;
        keys[t] = penstock_key(in[penstock_row_start(t / n, n, inner) + i * inner]);
        if (places != nullptr) places[t] = (unsigned int)i;
    }
}

// How often each digit occurs in each tile of each row, by row, digit and tile.
extern "C" __global__ void penstock_count_digits(I* counts, const K* keys, const I rows, const I n, const I tiles, const unsigned int shift) {
    __shared__ unsigned int found[256];
    for (I t = blockIdx.x; t < rows * tiles; t += gridDim.x) {
        const I row = t / tiles, tile = t % tiles, from = tile * TILE, end = n - from < TILE ? n : from + TILE;
        found[threadIdx.x] = 0;
        __syncthreads();
        for (I i = from + threadIdx.x; i < end; i += blockDim.x) atomicAdd(&found[(unsigned int)(keys[row * n + i] >> shift) & 255u], 1u);
        __syncthreads();
        counts[(row * 256 + threadIdx.x) * tiles + tile] = found[threadIdx.x];
        __syncthreads();
    }
}

// Moves keys to where their digit begins among all of their row, in the order that they are in. `starts` are the sums of the counts before.
extern "C" __global__ __launch_bounds__(256, 3) void penstock_move_by_digit(
    K* to_keys, unsigned int* to_places, const K* keys, const unsigned int* places, const I* starts, const I rows, const I n,
    const I tiles, const unsigned int shift
) {
    // For each warp and digit: how many there are, then where those of the warp begin among those of the tile.
    __shared__ unsigned int found[8][256];
    __shared__ unsigned int sums[8];
    __shared__ I begins[256];
    __shared__ K sorted[TILE];
    __shared__ unsigned int sorted_places[TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (I t = blockIdx.x; t < rows * tiles; t += gridDim.x) {
        const I row = t / tiles, tile = t % tiles, from = tile * TILE;
        const unsigned int count = (unsigned int)(n - from < TILE ? n - from : TILE);
        const K* const own = keys + row * n + from;
        for (int w = 0; w < 8; ++w) found[w][threadIdx.x] = 0;
        __syncthreads();
        // The place of each key among those of its digit in the warp.
        unsigned int ranks[PER_THREAD];
        K held[PER_THREAD];
        #pragma unroll
        for (int r = 0; r < PER_THREAD; ++r) {
            const unsigned int i = (warp * PER_THREAD + r) * 32 + lane;
            const bool is_there = i < count;
            held[r] = is_there ? own[i] : K(0);
            const unsigned int digit = (unsigned int)(held[r] >> shift) & 255u;
            unsigned int same = __ballot_sync(~0u, is_there);
            #pragma unroll
            for (int b = 0; b < 8; ++b) {
                const unsigned int set = __ballot_sync(~0u, digit >> b & 1u);
                same &= digit >> b & 1u ? set : ~set;
            }
            const unsigned int before = __popc(same & ((1u << lane) - 1u));
            ranks[r] = found[warp][digit] + before;
            __syncwarp();
            if (is_there && before == 0) found[warp][digit] += __popc(same);
            __syncwarp();
        }
        __syncthreads();
        // A thread for each digit: its keys of all warps, and of all digits below.
        unsigned int total = 0;
        for (int w = 0; w < 8; ++w) {
            const unsigned int here = found[w][threadIdx.x];
            found[w][threadIdx.x] = total;
            total += here;
        }
        unsigned int below = total;
        for (int width = 1; width < 32; width *= 2) {
            const unsigned int other = __shfl_up_sync(~0u, below, width);
            if (lane >= width) below += other;
        }
        if (lane == 31) sums[warp] = below;
        __syncthreads();
        below -= total;
        for (int w = 0; w < warp; ++w) below += sums[w];
        for (int w = 0; w < 8; ++w) found[w][threadIdx.x] += below;
        begins[threadIdx.x] = starts[(row * 256 + threadIdx.x) * tiles + tile] - below;
        __syncthreads();
        // In order within the block first, so that neighbours go to neighbouring places.
        #pragma unroll
        for (int r = 0; r < PER_THREAD; ++r) {
            const unsigned int i = (warp * PER_THREAD + r) * 32 + lane;
            ranks[r] += found[warp][(unsigned int)(held[r] >> shift) & 255u];
            if (i < count) {
                sorted[ranks[r]] = held[r];
                if (places != nullptr) sorted_places[ranks[r]] = places[row * n + from + i];
            }
        }
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
            const K key = sorted[i];
            const I at = begins[(unsigned int)(key >> shift) & 255u] + i;
            to_keys[at] = key;
            if (places != nullptr) to_places[at] = sorted_places[i];
        }
        __syncthreads();
    }
}

// What was asked for of the first `k` of each sorted row. Without places it is elements, which their keys tell.
extern "C" __global__ void penstock_take_first(
    E* elements, L* positions, const E* in, const K* keys, const unsigned int* places, const I rows, const I n, const I k, const I inner
) {
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < rows * k; t += I(gridDim.x) * blockDim.x) {
        // Neighbours are those of the result.
        const I i = t % inner, rank = t / inner % k, row = t / inner / k * inner + i;
        if (places != nullptr) penstock_selected(elements, positions, in, row, rank, places[row * n + rank], n, k, inner);
        else penstock_element(keys[row * n + rank], elements[t]);
    }
}

// --- places in sorted rows ---------------------------------------------------------------------

// For each of `count` values for each row of `n` ascending elements how many are below it, or where `right`, not above it.
extern "C" __global__ void penstock_search(
    L* out, const E* sorted, const E* values, const I all, const I n, const I count, const unsigned int right
) {
    for (I t = I(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += I(gridDim.x) * blockDim.x) {
        const E* const row = sorted + t / count * n;
        const K key = penstock_key(values[t]);
        I low = 0, high = n;
        while (low < high) {
            const I middle = low + (high - low) / 2;
            const K other = penstock_key(row[middle]);
            if (right != 0 ? other <= key : other < key) low = middle + 1;
            else high = middle;
        }
        out[t] = L(low);
    }
}
