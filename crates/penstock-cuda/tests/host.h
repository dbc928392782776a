// Stands in for the CUDA compiler: the built-in names of a kernel as host C++, one thread after another.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#define __device__
#define __global__
#define __forceinline__ inline

using std::acosh; using std::asinh; using std::atanh; using std::expm1; using std::log1p; using std::erf; using std::erfc;
using std::acos; using std::asin; using std::atan; using std::atan2; using std::ceil; using std::copysign; using std::cos;
using std::cosh; using std::exp; using std::floor; using std::fmod; using std::lgamma; using std::log; using std::pow;
using std::rint; using std::sin; using std::sinh; using std::sqrt; using std::tan; using std::tanh; using std::trunc;

static inline float fabs(float x) { return fabsf(x); }

struct penstock_place { unsigned int x; };
static penstock_place threadIdx, blockIdx, blockDim, gridDim;

static inline void atomicMin(unsigned int* word, unsigned int value) { if (value < *word) *word = value; }

template <class To, class From> static inline To penstock_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline float penstock_f32_of_bits(unsigned int bits) { return penstock_bits<float>(bits); }
static inline unsigned int penstock_bits_of_f32(float x) { return penstock_bits<unsigned int>(x); }
static inline double penstock_f64_of_bits(unsigned long long bits) { return penstock_bits<double>(bits); }

static inline float penstock_f32_of_f16(unsigned short bits) {
    const int exponent = bits >> 10 & 31;
    const float fraction = bits & 1023;
    const float magnitude = exponent == 31 ? (fraction == 0 ? HUGE_VALF : NAN)
        : exponent == 0 ? ldexpf(fraction, -24) : ldexpf(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}
// Scaled so that the places of an f16 are whole numbers, which `rint` rounds to nearest even.
static inline unsigned short penstock_f16_of_f32(float x) {
    const unsigned short sign = std::signbit(x) ? 0x8000 : 0;
    if (x != x) return sign | 0x7e00;
    const float magnitude = fabsf(x);
    if (magnitude >= 65520) return sign | 0x7c00;
    int exponent = -14;
    if (magnitude >= 0x1p-14f) exponent = std::ilogb(magnitude);
    const unsigned int places = (unsigned int)std::rint(ldexpf(magnitude, 10 - exponent));
    return (unsigned short)(sign | ((unsigned int)(exponent + 14) * 1024 + places));
}

template <class... P, size_t... I>
static void penstock_threads(void (*kernel)(P...), void** args, unsigned int blocks, unsigned int threads, std::index_sequence<I...>) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            kernel(*static_cast<typename std::remove_const<P>::type*>(args[I])...);
}
template <class... P> static void penstock_launch(void (*kernel)(P...), void** args, unsigned int blocks, unsigned int threads) {
    penstock_threads(kernel, args, blocks, threads, std::index_sequence_for<P...>());
}
