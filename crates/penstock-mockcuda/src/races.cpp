// Finds races of a kernel that was compiled with -fsanitize=thread: the compiler calls the functions below before every
// access to memory, and the device header calls them at barriers. ThreadSanitizer's own library is not linked.
//
// Each place remembers who wrote it last and who read it since. Two accesses, one of them a write, are a race where
// nothing orders them: within a block a barrier of the block or, for lanes of a warp, `__syncwarp`; between blocks an
// atomic with fences on both sides. Shuffles and votes order no memory, as CUDA has it. Every thread has a clock, which
// steps on at its barriers, and knows up to which time of each other thread it comes behind.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

// Where the library begins; the linker knows.
extern "C" char __ehdr_start __attribute__((visibility("hidden")));

namespace {

typedef std::vector<uint32_t> Clocks;
// Of other blocks up to which time of each of their threads somebody comes behind.
typedef std::map<uint32_t, std::shared_ptr<const Clocks>> Seen;

enum Kind : uint8_t { NONE, READ, WRITE, ATOMIC };
struct Access {
    uint32_t block, clock, code;
    uint16_t thread;
    Kind kind;
};
// The last write, a read by an earlier block, and two reads by this one, of different warps where there are such.
struct Cell { Access write, earlier, reads[2]; };

// Cells are of 4 bytes, or of single ones where a thread took fewer.
const uintptr_t PAGE = 1024;
struct Page { std::vector<Cell> cells; };
const size_t MOST_PAGES = 1 << 16;

// What the driver reads: a place, and the two accesses.
struct Race {
    uint64_t place;
    uint32_t blocks[2], threads[2], kinds[2];
    uint64_t code[2];
};
const uint32_t MOST_RACES = 8;

struct {
    uintptr_t memory, memory_end, shared, shared_end;
    uint32_t threads, block, thread;
    uint32_t clocks[1024], base[1024];
    uint32_t warps[32][32][32];
    // What all threads of the block have made visible to others by fences, and who had a fence since the last barrier.
    Clocks published;
    bool fenced[1024];
    uint32_t fenced_lanes[1024][32];
    // What atomics have read of others, and what a fence behind them lets a thread see: its own, and since the last barrier
    // that of all of the block.
    Seen pending[1024], seen[1024], block_pending, block_seen;
    bool sees_pending[1024];
    bool exchanged, fences;
    std::unordered_map<uintptr_t, Page> pages;
    std::unordered_map<uintptr_t, Seen> released;
    uintptr_t known_number;
    Page* known;
    Race races[MOST_RACES];
    uint32_t count;
    bool is_full;
} state;

void join(Seen& to, const Seen& from) {
    for (const auto& [block, clocks] : from) {
        auto& own = to[block];
        if (own == nullptr) own = clocks;
        else if (own != clocks) {
            Clocks both = *own;
            for (size_t i = 0; i < both.size(); ++i) if ((*clocks)[i] > both[i]) both[i] = (*clocks)[i];
            own = std::make_shared<const Clocks>(std::move(both));
        }
    }
}

// Whether this thread comes behind an access.
bool is_behind(const Access& access) {
    if (access.block != state.block) {
        const Seen* const all[] = {&state.block_seen, &state.seen[state.thread], &state.block_pending};
        for (int i = 0; i < 2 + state.sees_pending[state.thread]; ++i) {
            const Seen* const seen = all[i];
            const auto found = seen->find(access.block);
            if (found != seen->end() && (*found->second)[access.thread] >= access.clock) return true;
        }
        return false;
    }
    if (access.thread == state.thread) return true;
    if (access.thread / 32 != state.thread / 32) return state.base[access.thread] >= access.clock;
    return state.warps[state.thread / 32][state.thread % 32][access.thread % 32] >= access.clock;
}

void found(uintptr_t place, const Access& first, const Access& second) {
    for (uint32_t i = 0; i < state.count; ++i)
        if (state.races[i].code[0] == first.code && state.races[i].code[1] == second.code) return;
    if (state.count == MOST_RACES) return;
    // The driver says more, unless the kernel goes wrong by what it has read.
    if (state.count == 0)
        fprintf(stderr, "mock CUDA: a race of thread %u of block %u and thread %u of block %u\n", first.thread, first.block, second.thread, second.block);
    Race& race = state.races[state.count++];
    race.place = place;
    int i = 0;
    for (const Access* access : {&first, &second}) {
        race.blocks[i] = access->block;
        race.threads[i] = access->thread;
        race.kinds[i] = access->kind;
        race.code[i++] = access->code;
    }
}

void meet(Cell& cell, uintptr_t place, const Access& access, bool is_shared) {
    // Each block has shared memory of its own.
    if (is_shared)
        for (Access* old : {&cell.write, &cell.earlier, &cell.reads[0], &cell.reads[1]})
            if (old->block != access.block) old->kind = NONE;
    const bool writes = access.kind != READ;
    const bool atomics = access.kind == ATOMIC && cell.write.kind == ATOMIC;
    if (cell.write.kind != NONE && !atomics && !is_behind(cell.write)) found(place, cell.write, access);
    if (writes) {
        for (Access* read : {&cell.earlier, &cell.reads[0], &cell.reads[1]}) {
            if (read->kind != NONE && !is_behind(*read)) found(place, *read, access);
            read->kind = NONE;
        }
        cell.write = access;
        return;
    }
    for (Access& read : cell.reads) {
        if (read.kind == NONE || read.block == access.block) continue;
        cell.earlier = read;
        read.kind = NONE;
    }
    for (Access& read : cell.reads) {
        if (read.kind != NONE && !is_behind(read)) continue;
        read = access;
        return;
    }
    const int warp = cell.reads[0].thread / 32;
    if (cell.reads[1].thread / 32 == warp && access.thread / 32 != warp) cell.reads[1] = access;
}

void touch(const void* start, size_t size, Kind kind, const void* code) {
    const uintptr_t place = uintptr_t(start);
    const bool is_shared = place >= state.shared && place < state.shared_end;
    if (!is_shared && !(place >= state.memory && place < state.memory_end)) return;
    const Access access = {
        state.block, state.clocks[state.thread], uint32_t(uintptr_t(code) - uintptr_t(&__ehdr_start)), uint16_t(state.thread), kind
    };
    for (uintptr_t at = place; at < place + size;) {
        const uintptr_t number = at / PAGE;
        if (state.known == nullptr || number != state.known_number) {
            if (state.pages.size() >= MOST_PAGES && state.pages.count(number) == 0) {
                state.is_full = true;
                return;
            }
            state.known = &state.pages[number];
            state.known_number = number;
        }
        Page& page = *state.known;
        if (page.cells.empty()) page.cells.resize(PAGE / 4);
        if (page.cells.size() < PAGE && (at % 4 != 0 || place + size - at < 4)) {
            std::vector<Cell> bytes(PAGE);
            for (uintptr_t i = 0; i < PAGE; ++i) bytes[i] = page.cells[i / 4];
            page.cells.swap(bytes);
        }
        const uintptr_t step = PAGE / page.cells.size();
        meet(page.cells[at % PAGE / step], at, access, is_shared);
        at += step;
    }
}

}  // namespace

// --- what the device header calls --------------------------------------------------------------

extern "C" {
__attribute__((visibility("hidden"))) void mock_race_launch(
    uint64_t memory, uint64_t bytes, const char* shared, const char* shared_end, uint32_t threads
) {
    state.memory = memory;
    state.memory_end = memory + bytes;
    state.shared = uintptr_t(shared);
    state.shared_end = uintptr_t(shared_end);
    state.threads = threads;
    state.count = 0;
    state.is_full = false;
    state.known = nullptr;
    state.block = ~0u;
}
__attribute__((visibility("hidden"))) void mock_race_end() {
    std::unordered_map<uintptr_t, Page>().swap(state.pages);
    state.known = nullptr;
    state.released.clear();
}
__attribute__((visibility("hidden"))) void mock_race_block(uint32_t block) {
    state.block = block;
    for (uint32_t i = 0; i < state.threads; ++i) {
        state.clocks[i] = 1;
        state.base[i] = 0;
        for (uint32_t lane = 0; lane < 32; ++lane) state.warps[i / 32][i % 32][lane] = 0;
        state.fenced[i] = state.sees_pending[i] = false;
        state.pending[i].clear();
        state.seen[i].clear();
    }
    state.published.assign(state.threads, 0);
    state.block_pending.clear();
    state.block_seen.clear();
    state.exchanged = state.fences = false;
}
__attribute__((visibility("hidden"))) void mock_race_thread(uint32_t thread) { state.thread = thread; }

// All threads of the block have come to a barrier.
__attribute__((visibility("hidden"))) void mock_race_barrier() {
    if (state.fences) {
        for (uint32_t i = 0; i < state.threads; ++i) {
            if (!state.fenced[i]) continue;
            state.fenced[i] = false;
            for (uint32_t u = 0; u < state.threads; ++u)
                if (state.base[u] > state.published[u]) state.published[u] = state.base[u];
            for (uint32_t lane = 0, u = i / 32 * 32; lane < 32 && u < state.threads; ++lane, ++u)
                if (state.fenced_lanes[i][lane] > state.published[u]) state.published[u] = state.fenced_lanes[i][lane];
        }
        state.fences = false;
    }
    if (state.exchanged) {
        bool sees_pending = false;
        for (uint32_t i = 0; i < state.threads; ++i) {
            sees_pending = sees_pending || state.sees_pending[i];
            state.sees_pending[i] = false;
        }
        if (sees_pending) join(state.block_seen, state.block_pending);
        for (uint32_t i = 0; i < state.threads; ++i) {
            join(state.block_pending, state.pending[i]);
            join(state.block_seen, state.seen[i]);
            state.pending[i].clear();
            state.seen[i].clear();
        }
        state.exchanged = false;
    }
    for (uint32_t i = 0; i < state.threads; ++i) state.base[i] = state.clocks[i]++;
    for (uint32_t i = 0; i < state.threads; ++i)
        for (uint32_t lane = 0, u = i / 32 * 32; lane < 32 && u < state.threads; ++lane, ++u)
            state.warps[i / 32][i % 32][lane] = state.base[u];
}
// The lanes of a mask have come to `__syncwarp`.
__attribute__((visibility("hidden"))) void mock_race_warp(uint32_t first, uint32_t mask) {
    auto& warp = state.warps[first / 32];
    uint32_t joined[32] = {};
    for (uint32_t lane = 0; lane < 32 && first + lane < state.threads; ++lane) {
        if (!(mask >> lane & 1)) continue;
        warp[lane][lane] = state.clocks[first + lane]++;
        for (int i = 0; i < 32; ++i) if (warp[lane][i] > joined[i]) joined[i] = warp[lane][i];
    }
    for (uint32_t lane = 0; lane < 32 && first + lane < state.threads; ++lane)
        if (mask >> lane & 1) for (int i = 0; i < 32; ++i) warp[lane][i] = joined[i];
}
__attribute__((visibility("hidden"))) void mock_race_fence() {
    const uint32_t own = state.thread;
    auto& lanes = state.warps[own / 32][own % 32];
    for (int i = 0; i < 32; ++i) state.fenced_lanes[own][i] = lanes[i];
    // What comes behind the fence has a later time.
    state.fenced_lanes[own][own % 32] = state.clocks[own]++;
    state.fenced[own] = state.fences = true;
    join(state.seen[own], state.pending[own]);
    state.sees_pending[own] = !state.block_pending.empty();
    state.exchanged = state.exchanged || !state.seen[own].empty() || state.sees_pending[own];
}
__attribute__((visibility("hidden"), noinline)) void mock_race_atomic(const void* at, size_t size) {
    touch(at, size, ATOMIC, __builtin_return_address(0));
    const uint32_t own = state.thread;
    const uintptr_t place = uintptr_t(at);
    if (place < state.memory || place >= state.memory_end) return;
    Seen& released = state.released[place];
    if (!released.empty()) {
        join(state.pending[own], released);
        state.exchanged = true;
    }
    Clocks clocks = state.published;
    bool has = false;
    if (state.fenced[own]) {
        for (uint32_t u = 0; u < state.threads; ++u) if (state.base[u] > clocks[u]) clocks[u] = state.base[u];
        for (uint32_t lane = 0, u = own / 32 * 32; lane < 32 && u < state.threads; ++lane, ++u)
            if (state.fenced_lanes[own][lane] > clocks[u]) clocks[u] = state.fenced_lanes[own][lane];
    }
    for (uint32_t clock : clocks) has = has || clock != 0;
    if (!has) return;
    join(released, state.seen[own]);
    join(released, state.sees_pending[own] ? state.block_pending : state.block_seen);
    Seen mine;
    mine[state.block] = std::make_shared<const Clocks>(std::move(clocks));
    join(released, mine);
}

// --- what the driver calls ---------------------------------------------------------------------

// The races of the last launch, and whether memory was left out.
const Race* mock_races(uint32_t* count, uint32_t* is_full) {
    *count = state.count;
    *is_full = state.is_full;
    return state.races;
}
const char* mock_shared_start() { return reinterpret_cast<const char*>(state.shared); }

// --- what the compiler calls -------------------------------------------------------------------

#define HIDDEN __attribute__((visibility("hidden")))
#define CODE __builtin_return_address(0)
#define ACCESS(size) \
    HIDDEN void __tsan_read##size(void* at) { touch(at, size, READ, CODE); } \
    HIDDEN void __tsan_write##size(void* at) { touch(at, size, WRITE, CODE); } \
    HIDDEN void __tsan_unaligned_read##size(void* at) { touch(at, size, READ, CODE); } \
    HIDDEN void __tsan_unaligned_write##size(void* at) { touch(at, size, WRITE, CODE); } \
    HIDDEN void __tsan_volatile_read##size(void* at) { touch(at, size, READ, CODE); } \
    HIDDEN void __tsan_volatile_write##size(void* at) { touch(at, size, WRITE, CODE); } \
    HIDDEN void __tsan_unaligned_volatile_read##size(void* at) { touch(at, size, READ, CODE); } \
    HIDDEN void __tsan_unaligned_volatile_write##size(void* at) { touch(at, size, WRITE, CODE); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
HIDDEN void __tsan_read_range(void* at, size_t size) { touch(at, size, READ, CODE); }
HIDDEN void __tsan_write_range(void* at, size_t size) { touch(at, size, WRITE, CODE); }
HIDDEN void __tsan_vptr_update(void** at, void*) { touch(at, sizeof *at, WRITE, CODE); }
HIDDEN void __tsan_vptr_read(void** at) { touch(at, sizeof *at, READ, CODE); }
HIDDEN void __tsan_init() {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}

// Atomics of the compiler have another order than those of a device, which the header defines: they are of the header itself.
#define UPDATE(bits, type, name, builtin) \
    HIDDEN type __tsan_atomic##bits##_##name(volatile type* at, type value, int) { \
        touch(const_cast<type*>(at), sizeof *at, ATOMIC, CODE); \
        return builtin(at, value, __ATOMIC_SEQ_CST); \
    }
#define COMPARE(bits, type, name) \
    HIDDEN int __tsan_atomic##bits##_compare_exchange_##name(volatile type* at, type* due, type value, int, int) { \
        touch(const_cast<type*>(at), sizeof *at, ATOMIC, CODE); \
        return __atomic_compare_exchange_n(at, due, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }
#define ATOMICS(bits, type) \
    HIDDEN type __tsan_atomic##bits##_load(const volatile type* at, int) { \
        touch(const_cast<const type*>(at), sizeof *at, ATOMIC, CODE); \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST); \
    } \
    HIDDEN void __tsan_atomic##bits##_store(volatile type* at, type value, int) { \
        touch(const_cast<type*>(at), sizeof *at, ATOMIC, CODE); \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST); \
    } \
    UPDATE(bits, type, exchange, __atomic_exchange_n) UPDATE(bits, type, fetch_add, __atomic_fetch_add) \
    UPDATE(bits, type, fetch_sub, __atomic_fetch_sub) UPDATE(bits, type, fetch_and, __atomic_fetch_and) \
    UPDATE(bits, type, fetch_or, __atomic_fetch_or) UPDATE(bits, type, fetch_xor, __atomic_fetch_xor) \
    UPDATE(bits, type, fetch_nand, __atomic_fetch_nand) COMPARE(bits, type, strong) COMPARE(bits, type, weak) \
    HIDDEN type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type due, type value, int, int) { \
        touch(const_cast<type*>(at), sizeof *at, ATOMIC, CODE); \
        __atomic_compare_exchange_n(at, &due, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return due; \
    }
ATOMICS(8, uint8_t) ATOMICS(16, uint16_t) ATOMICS(32, uint32_t) ATOMICS(64, uint64_t)
HIDDEN void __tsan_atomic_thread_fence(int) {}
HIDDEN void __tsan_atomic_signal_fence(int) {}
}
