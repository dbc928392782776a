// Stands in for the CUDA compiler: the built-in names of a kernel, as host C++. Threads run one after another; where
// the text has barriers (MOCK_FIBERS), each is a fiber, and threads and blocks run in an order that a seed decides.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#define __device__
#define __global__
#define __constant__ static const
#define __forceinline__ inline
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// The variables of a block share a section, so that each block finds them filled with bytes that mean nothing.
#define __shared__ static __attribute__((section("mock_shared")))

using std::acosh; using std::asinh; using std::atanh; using std::expm1; using std::log1p; using std::erf; using std::erfc;
using std::acos; using std::asin; using std::atan; using std::atan2; using std::ceil; using std::copysign; using std::cos;
using std::cosh; using std::exp; using std::floor; using std::fmod; using std::lgamma; using std::log; using std::pow;
using std::rint; using std::sin; using std::sinh; using std::sqrt; using std::tan; using std::tanh; using std::trunc;
using std::fma;

static inline float fabs(float x) { return fabsf(x); }

struct mock_place { unsigned int x, y, z; };
static mock_place threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

template <class To, class From> static inline To mock_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __uint_as_float(unsigned int bits) { return mock_bits<float>(bits); }
static inline float __int_as_float(int bits) { return mock_bits<float>(bits); }
static inline unsigned int __float_as_uint(float x) { return mock_bits<unsigned int>(x); }
static inline int __float_as_int(float x) { return mock_bits<int>(x); }
static inline double __longlong_as_double(long long bits) { return mock_bits<double>(bits); }
static inline long long __double_as_longlong(double x) { return mock_bits<long long>(x); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }

// Who looks for races is told of whatever orders memory; see races.cpp.
#ifdef MOCK_RACES
extern "C" {
void mock_race_launch(unsigned long, unsigned long, const char*, const char*, unsigned int);
void mock_race_end();
void mock_race_block(unsigned int);
void mock_race_thread(unsigned int);
void mock_race_barrier();
void mock_race_warp(unsigned int, unsigned int);
void mock_race_fence();
void mock_race_atomic(const void*, size_t);
}
#else
static inline void mock_race_launch(unsigned long, unsigned long, const char*, const char*, unsigned int) {}
static inline void mock_race_end() {}
static inline void mock_race_block(unsigned int) {}
static inline void mock_race_thread(unsigned int) {}
static inline void mock_race_barrier() {}
static inline void mock_race_warp(unsigned int, unsigned int) {}
static inline void mock_race_fence() {}
static inline void mock_race_atomic(const void*, size_t) {}
#endif

// An atomic's own accesses are no accesses of the thread.
#define MOCK_ATOMIC template <class T> __attribute__((always_inline)) static inline T
template <class T> __attribute__((no_sanitize("thread"), noinline)) static T mock_swap(T* at, T value) {
    const T old = *at;
    *at = value;
    return old;
}
template <class T> __attribute__((no_sanitize("thread"), noinline)) static T mock_peek(const T* at) { return *at; }
MOCK_ATOMIC mock_atomic(const T* at) { mock_race_atomic(at, sizeof(T)); return mock_peek(at); }
MOCK_ATOMIC atomicAdd(T* at, T value) { return mock_swap(at, T(mock_atomic(at) + value)); }
MOCK_ATOMIC atomicMin(T* at, T value) { const T old = mock_atomic(at); return mock_swap(at, value < old ? value : old); }
MOCK_ATOMIC atomicMax(T* at, T value) { const T old = mock_atomic(at); return mock_swap(at, value > old ? value : old); }
MOCK_ATOMIC atomicExch(T* at, T value) { mock_atomic(at); return mock_swap(at, value); }
MOCK_ATOMIC atomicCAS(T* at, T due, T value) { const T old = mock_atomic(at); return mock_swap(at, old == due ? value : old); }
#undef MOCK_ATOMIC
static inline void __threadfence() { mock_race_fence(); }
static inline void __threadfence_block() { mock_race_fence(); }

// The stored form of a half-precision float, for texts that have an instruction of the GPU for it.
static inline float mock_f32_of_f16(unsigned short bits) {
    const int exponent = bits >> 10 & 31;
    const float fraction = bits & 1023;
    const float magnitude = exponent == 31 ? (fraction == 0 ? HUGE_VALF : NAN)
        : exponent == 0 ? ldexpf(fraction, -24) : ldexpf(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}
// Scaled so that the places of a half are whole numbers, which `rint` rounds to nearest even.
static inline unsigned short mock_f16_of_f32(float x) {
    const unsigned short sign = std::signbit(x) ? 0x8000 : 0;
    if (x != x) return sign | 0x7e00;
    const float magnitude = fabsf(x);
    if (magnitude >= 65520) return sign | 0x7c00;
    int exponent = -14;
    if (magnitude >= 0x1p-14f) exponent = std::ilogb(magnitude);
    const unsigned int places = (unsigned int)std::rint(ldexpf(magnitude, 10 - exponent));
    return (unsigned short)(sign | ((unsigned int)(exponent + 14) * 1024 + places));
}

// What a launch is.
struct mock_launch {
    mock_place grid, block;
    unsigned int shared;
    unsigned int seed;
    // The memory of the devices.
    unsigned long memory, bytes;
};

static unsigned int mock_state;
static unsigned int mock_random() {
    mock_state = mock_state * 1664525u + 1013904223u;
    return mock_state >> 8;
}
static const char* mock_finding;
static void mock_find(const char* text) { if (mock_finding == nullptr) mock_finding = text; }

// What a handle of a conditional node names.
struct mock_conditional {
    unsigned long magic;
    unsigned int set, value;
};
extern "C" __attribute__((visibility("hidden"))) inline void cudaGraphSetConditional(unsigned long long handle, unsigned int value) {
    mock_conditional* of = reinterpret_cast<mock_conditional*>(handle);
    if (of == nullptr || of->magic != 0x434f4e444954494full) return mock_find("a handle of no conditional node is set");
    of->set = 1;
    of->value = value;
}

static void mock_set_thread(unsigned int number) {
    threadIdx.x = number % blockDim.x;
    threadIdx.y = number / blockDim.x % blockDim.y;
    threadIdx.z = number / (blockDim.x * blockDim.y);
    mock_race_thread(number);
}

extern "C" char __start_mock_shared[] __attribute__((weak));
extern "C" char __stop_mock_shared[] __attribute__((weak));

#ifdef MOCK_FIBERS
#include <sys/mman.h>
#include <ucontext.h>

enum mock_wait { MOCK_READY, MOCK_BLOCK, MOCK_WARP, MOCK_LANES, MOCK_DONE };
struct mock_fiber {
    ucontext_t context;
    mock_wait wait;
    unsigned int mask;
    unsigned long long slot[2];
};
static mock_fiber mock_fibers[1024];
static ucontext_t mock_scheduler;
static unsigned int mock_current, mock_threads;
static int mock_votes;
static void (*mock_body)(void*);
static void* mock_args;
static const size_t mock_stack = 1 << 16;

static void mock_yield(mock_wait wait, unsigned int mask) {
    mock_fiber& own = mock_fibers[mock_current];
    own.wait = wait;
    own.mask = mask;
    swapcontext(&own.context, &mock_scheduler);
}
// Execution waits here, and memory is not ordered.
static inline void mock_meet(unsigned int mask) { mock_yield(MOCK_LANES, mask); }
static inline void __syncthreads() { mock_yield(MOCK_BLOCK, 0); }
static inline void __syncwarp(unsigned int mask = ~0u) { mock_yield(MOCK_WARP, mask); }
// What lane `from` of the warp has.
template <class T> static T mock_exchange(unsigned int mask, T value, unsigned int from) {
    static_assert(sizeof(T) <= 16, "a register");
    const unsigned int own = mock_current, warp = own & ~31u;
    memcpy(mock_fibers[own].slot, &value, sizeof value);
    mock_meet(mask);
    T out = value;
    if (from < 32 && warp + from < mock_threads) {
        if (mask >> from & 1) memcpy(&out, mock_fibers[warp + from].slot, sizeof out);
        else mock_find("a shuffle reads a lane outside of its mask");
    }
    mock_meet(mask);
    return out;
}
template <class T> static inline T __shfl_sync(unsigned int mask, T v, int lane, int width = 32) {
    return mock_exchange(mask, v, (mock_current & 31 & ~(width - 1)) + (lane & (width - 1)));
}
template <class T> static inline T __shfl_down_sync(unsigned int mask, T v, unsigned int d, int width = 32) {
    const unsigned int own = mock_current & 31;
    return mock_exchange(mask, v, (own & (width - 1)) + d < (unsigned int)width ? own + d : own);
}
template <class T> static inline T __shfl_up_sync(unsigned int mask, T v, unsigned int d, int width = 32) {
    const unsigned int own = mock_current & 31;
    return mock_exchange(mask, v, (own & (width - 1)) >= d ? own - d : own);
}
template <class T> static inline T __shfl_xor_sync(unsigned int mask, T v, int d, int width = 32) {
    return mock_exchange(mask, v, ((mock_current & 31) ^ d) & 31);
}
static inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
    const unsigned int own = mock_current, warp = own & ~31u;
    mock_fibers[own].slot[0] = predicate != 0;
    mock_meet(mask);
    unsigned int out = 0;
    for (unsigned int i = 0; i < 32 && warp + i < mock_threads; ++i)
        if (mask >> i & 1) out |= (unsigned int)mock_fibers[warp + i].slot[0] << i;
    mock_meet(mask);
    return out;
}
static inline int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned int mask, int predicate) { return (__ballot_sync(mask, predicate) & mask) == mask; }
static inline int __syncthreads_or(int predicate) {
    if (predicate) mock_votes = 1;
    __syncthreads();
    const int out = mock_votes;
    __syncthreads();
    mock_votes = 0;
    __syncthreads();
    return out;
}

static void mock_entry() {
    mock_body(mock_args);
    mock_fibers[mock_current].wait = MOCK_DONE;
    swapcontext(&mock_fibers[mock_current].context, &mock_scheduler);
}

// Lets waiting threads go on; false where none can.
static bool mock_release() {
    bool released = false;
    for (unsigned int warp = 0; warp < mock_threads; warp += 32) {
        for (unsigned int i = 0; i < 32 && warp + i < mock_threads; ++i) {
            const mock_fiber& first = mock_fibers[warp + i];
            if (first.wait != MOCK_WARP && first.wait != MOCK_LANES) continue;
            bool all = first.mask >> i & 1;
            for (unsigned int k = 0; k < 32 && warp + k < mock_threads; ++k) {
                const mock_fiber& other = mock_fibers[warp + k];
                if (first.mask >> k & 1) all = all && other.wait == first.wait && other.mask == first.mask;
            }
            if (!all) continue;
            const unsigned int mask = first.mask;
            if (first.wait == MOCK_WARP) mock_race_warp(warp, mask);
            for (unsigned int k = 0; k < 32 && warp + k < mock_threads; ++k)
                if (mask >> k & 1) mock_fibers[warp + k].wait = MOCK_READY;
            released = true;
        }
    }
    if (released) return true;
    unsigned int block = 0, done = 0;
    for (unsigned int i = 0; i < mock_threads; ++i) {
        block += mock_fibers[i].wait == MOCK_BLOCK;
        done += mock_fibers[i].wait == MOCK_DONE;
    }
    if (block == 0) return false;
    if (block != mock_threads) {
        mock_find(done > 0 ? "a thread returned in front of a barrier" : "threads wait at different barriers");
        if (block + done < mock_threads) return false;
    }
    for (unsigned int i = 0; i < mock_threads; ++i)
        if (mock_fibers[i].wait == MOCK_BLOCK) mock_fibers[i].wait = MOCK_READY;
    mock_race_barrier();
    return true;
}

static void mock_block(void (*body)(void*), void* args) {
    static char* stacks = (char*)mmap(nullptr, mock_stack * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (__start_mock_shared != nullptr) memset(__start_mock_shared, 0xFF, __stop_mock_shared - __start_mock_shared);
    mock_body = body;
    mock_args = args;
    mock_votes = 0;
    mock_threads = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned int i = 0; i < mock_threads; ++i) {
        mock_fiber& fiber = mock_fibers[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks + mock_stack * i;
        fiber.context.uc_stack.ss_size = mock_stack;
        fiber.context.uc_link = nullptr;
        fiber.wait = MOCK_READY;
        makecontext(&fiber.context, mock_entry, 0);
    }
    for (;;) {
        bool ran = false;
        const unsigned int first = mock_random() % mock_threads;
        for (unsigned int i = 0; i < mock_threads; ++i) {
            mock_current = (first + i) % mock_threads;
            if (mock_fibers[mock_current].wait != MOCK_READY) continue;
            ran = true;
            mock_set_thread(mock_current);
            swapcontext(&mock_scheduler, &mock_fibers[mock_current].context);
        }
        if (!ran && !mock_release()) break;
    }
    for (unsigned int i = 0; i < mock_threads; ++i)
        if (mock_fibers[i].wait != MOCK_DONE) mock_find("threads of a warp wait at different barriers");
}
#else
static void mock_block(void (*body)(void*), void* args) {
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned int i = 0; i < threads; ++i) {
        mock_set_thread(i);
        body(args);
    }
}
#endif

template <class... P> struct mock_kernel {
    void (*kernel)(P...);
    void** args;
    template <size_t... I> void call(std::index_sequence<I...>) { kernel(*static_cast<typename std::remove_cv<P>::type*>(args[I])...); }
    static void run(void* self) { static_cast<mock_kernel*>(self)->call(std::index_sequence_for<P...>()); }
};

// Runs a kernel; what was found wrong, or null.
template <class... P> static const char* mock_run(void (*kernel)(P...), void** args, const mock_launch* launch) {
    mock_kernel<P...> self = {kernel, args};
    gridDim = launch->grid;
    blockDim = launch->block;
    mock_state = launch->seed;
    mock_finding = nullptr;
    const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z, first = mock_random() % blocks;
    mock_race_launch(launch->memory, launch->bytes, __start_mock_shared, __stop_mock_shared, blockDim.x * blockDim.y * blockDim.z);
    for (unsigned int i = 0; i < blocks; ++i) {
        const unsigned int block = (first + i) % blocks;
        blockIdx.x = block % gridDim.x;
        blockIdx.y = block / gridDim.x % gridDim.y;
        blockIdx.z = block / (gridDim.x * gridDim.y);
        mock_race_block(block);
        mock_block(mock_kernel<P...>::run, &self);
    }
    mock_race_end();
    return mock_finding;
}

// The sizes of the arguments of a kernel; returns their number.
template <class... P> static int mock_sizes(void (*)(P...), size_t* sizes) {
    const size_t own[] = {sizeof(P)..., 0};
    memcpy(sizes, own, sizeof...(P) * sizeof(size_t));
    return int(sizeof...(P));
}
