// What generated kernels stand on: element types, conversions, and the functions whose meaning
// plain CUDA C++ does not give. No header is included, so that NVRTC needs none.

// --- types -------------------------------------------------------------------------------------

// The unsigned type in which arithmetic of a width is done, where overflow is defined to wrap.
template <int Size> struct penstock_unsigned { typedef unsigned int type; };
template <> struct penstock_unsigned<8> { typedef unsigned long long type; };

// An integer whose arithmetic wraps. It converts to other types only where that is written out.
template <class T> struct penstock_int {
    typedef typename penstock_unsigned<sizeof(T)>::type U;
    enum : int { bits = int(sizeof(T)) * 8, is_signed = T(-1) < T(0) };
    T v;

    penstock_int() = default;
    __device__ constexpr penstock_int(int n) : v(T(n)) {}
    __device__ constexpr penstock_int(unsigned int n) : v(T(n)) {}
    __device__ constexpr penstock_int(long n) : v(T(n)) {}
    __device__ constexpr penstock_int(unsigned long n) : v(T(n)) {}
    __device__ constexpr penstock_int(long long n) : v(T(n)) {}
    __device__ constexpr penstock_int(unsigned long long n) : v(T(n)) {}
    template <class O> __device__ explicit constexpr penstock_int(penstock_int<O> o) : v(T(o.v)) {}
    // Truncates and saturates; NaN gives 0. Both ends are powers of two, and so exact.
    __device__ explicit constexpr penstock_int(double x)
        : v(x != x ? T(0) : x >= end() ? highest().v : x < (is_signed ? -end() : 0.0) ? lowest().v : T(x)) {}
    template <class N> __device__ explicit constexpr operator N() const { return N(v); }

    __device__ static constexpr penstock_int lowest() { return is_signed ? T(U(1) << (bits - 1)) : T(0); }
    __device__ static constexpr penstock_int highest() { return T(~lowest().v); }
    __device__ static constexpr double end() { return 2.0 * double(U(1) << (bits - 1 - is_signed)); }
};

#define PENSTOCK_ARITHMETIC(op) \
    template <class T> __device__ constexpr penstock_int<T> operator op(penstock_int<T> a, penstock_int<T> b) { \
        typedef typename penstock_int<T>::U U; \
        return T(U(a.v) op U(b.v)); \
    } \
    template <class T> __device__ constexpr penstock_int<T> operator op(penstock_int<T> a, int b) { return a op penstock_int<T>(b); } \
    template <class T> __device__ constexpr penstock_int<T> operator op(int a, penstock_int<T> b) { return penstock_int<T>(a) op b; }
PENSTOCK_ARITHMETIC(+)
PENSTOCK_ARITHMETIC(-)
PENSTOCK_ARITHMETIC(*)
PENSTOCK_ARITHMETIC(&)
PENSTOCK_ARITHMETIC(|)
PENSTOCK_ARITHMETIC(^)
#undef PENSTOCK_ARITHMETIC

#define PENSTOCK_COMPARISON(op) \
    template <class T> __device__ constexpr bool operator op(penstock_int<T> a, penstock_int<T> b) { return a.v op b.v; } \
    template <class T> __device__ constexpr bool operator op(penstock_int<T> a, int b) { return a.v op T(b); }
PENSTOCK_COMPARISON(==)
PENSTOCK_COMPARISON(!=)
PENSTOCK_COMPARISON(<)
PENSTOCK_COMPARISON(<=)
PENSTOCK_COMPARISON(>)
PENSTOCK_COMPARISON(>=)
#undef PENSTOCK_COMPARISON

template <class T> __device__ constexpr penstock_int<T> operator-(penstock_int<T> a) { return penstock_int<T>(0) - a; }
template <class T> __device__ constexpr penstock_int<T> operator~(penstock_int<T> a) { return T(~a.v); }

typedef penstock_int<signed char> i8;
typedef penstock_int<short> i16;
typedef penstock_int<int> i32;
typedef penstock_int<long long> i64;
typedef penstock_int<unsigned char> u8;
typedef penstock_int<unsigned short> u16;
typedef penstock_int<unsigned int> u32;
typedef penstock_int<unsigned long long> u64;
typedef float f32;
typedef double f64;

// A complex number. What is more than sums and products comes from formulas.
template <class F> struct alignas(2 * sizeof(F)) penstock_complex {
    F re, im;

    penstock_complex() = default;
    __device__ constexpr penstock_complex(int n) : re(F(n)), im(0) {}
    __device__ constexpr penstock_complex(F re, F im) : re(re), im(im) {}
};
typedef penstock_complex<f32> c64;
typedef penstock_complex<f64> c128;

template <class F> __device__ constexpr penstock_complex<F> operator+(penstock_complex<F> a, penstock_complex<F> b) {
    return penstock_complex<F>(a.re + b.re, a.im + b.im);
}
template <class F> __device__ constexpr penstock_complex<F> operator-(penstock_complex<F> a, penstock_complex<F> b) {
    return penstock_complex<F>(a.re - b.re, a.im - b.im);
}
template <class F> __device__ constexpr penstock_complex<F> operator*(penstock_complex<F> a, penstock_complex<F> b) {
    return penstock_complex<F>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
template <class F> __device__ constexpr penstock_complex<F> operator/(penstock_complex<F> a, F b) {
    return penstock_complex<F>(a.re / b, a.im / b);
}
template <class F> __device__ constexpr bool operator!=(penstock_complex<F> a, int b) { return a.re != F(b) || a.im != F(0); }

// Stored forms; `bool` is computed as bool, 16-bit floats as float.
struct b8 { unsigned char byte; };
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

// --- bits --------------------------------------------------------------------------------------

__device__ inline float penstock_f32_of_bits(unsigned int bits) { return __uint_as_float(bits); }
__device__ inline unsigned int penstock_bits_of_f32(float x) { return __float_as_uint(x); }
__device__ inline double penstock_f64_of_bits(unsigned long long bits) { return __longlong_as_double((long long)bits); }
__device__ inline unsigned long long penstock_bits_of_f64(double x) { return (unsigned long long)__double_as_longlong(x); }
#ifdef __CUDACC__
__device__ inline float penstock_f32_of_f16(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ inline unsigned short penstock_f16_of_f32(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#else
// Compiled for the host, by tests, behind a header that has the names of the device.
static inline float penstock_f32_of_f16(unsigned short bits) { return mock_f32_of_f16(bits); }
static inline unsigned short penstock_f16_of_f32(float x) { return mock_f16_of_f32(x); }
#endif

// What formulas do with the bits of floats. Shifts are by less than the width, and zeros follow.
__device__ inline i32 penstock_bits_of(float x) { return penstock_bits_of_f32(x); }
__device__ inline i64 penstock_bits_of(double x) { return penstock_bits_of_f64(x); }
__device__ inline float penstock_float_of(i32 x) { return penstock_f32_of_bits((unsigned int)x.v); }
__device__ inline double penstock_float_of(i64 x) { return penstock_f64_of_bits((unsigned long long)x.v); }
template <class T> __device__ constexpr penstock_int<T> penstock_shift_left(penstock_int<T> x, int by) {
    return T(typename penstock_int<T>::U(x.v) << by);
}
template <class T> __device__ constexpr penstock_int<T> penstock_shift_right(penstock_int<T> x, int by) {
    return T(typename penstock_int<T>::U(x.v) >> by);
}

// --- memory ------------------------------------------------------------------------------------

// The value of a stored element, in the type that it is computed in.
template <class T> __device__ inline T penstock_load(const T& x) { return x; }
__device__ inline bool penstock_load(const b8& x) { return x.byte != 0; }
__device__ inline float penstock_load(const f16& x) { return penstock_f32_of_f16(x.bits); }
__device__ inline float penstock_load(const bf16& x) { return penstock_f32_of_bits((unsigned int)x.bits << 16); }

// Stores a computed value, rounded to nearest.
template <class T> __device__ inline void penstock_store(T& out, T x) { out = x; }
__device__ inline void penstock_store(b8& out, bool x) { out.byte = x; }
__device__ inline void penstock_store(f16& out, float x) { out.bits = penstock_f16_of_f32(x); }
__device__ inline void penstock_store(bf16& out, float x) {
    const unsigned int bits = penstock_bits_of_f32(x);
    const unsigned int rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    out.bits = (unsigned short)(x != x ? (bits >> 16 | 0x40) : rounded);
}

// A computed value as it would come back from a stored element of type `T`.
template <class T> __device__ inline float penstock_round_to(float x) {
    T stored;
    penstock_store(stored, x);
    return penstock_load(stored);
}

// `N` elements that are loaded and stored at once.
template <class T, int N> struct alignas(sizeof(T) * N) penstock_pack { T at[N]; };

typedef unsigned int penstock_index32;
typedef unsigned long long penstock_index64;

// Extents or strides.
template <class I, int N> struct penstock_list { I at[N]; };

__device__ inline bool penstock_is_inf(float x) { return fabsf(x) == penstock_f32_of_bits(0x7f800000u); }
__device__ inline bool penstock_is_inf(double x) { return fabs(x) == penstock_f64_of_bits(0x7ff0000000000000ull); }

// --- integers ----------------------------------------------------------------------------------

// Shifts; the amount is clamped to 0 ..= width, and the sign of a signed number is copied.
template <class T> __device__ constexpr penstock_int<T> operator<<(penstock_int<T> a, penstock_int<T> by) {
    typedef penstock_int<T> I;
    return by < 0 ? a : by.v >= T(I::bits) ? I(0) : I(T(typename I::U(a.v) << int(by.v)));
}
template <class T> __device__ constexpr penstock_int<T> operator>>(penstock_int<T> a, penstock_int<T> by) {
    typedef penstock_int<T> I;
    return by < 0 ? a : by.v >= T(I::bits) ? I(a < 0 ? -1 : 0) : I(T(a.v >> int(by.v)));
}

// --- division ----------------------------------------------------------------------------------

template <class F> __device__ inline F penstock_trunc_div_float(F a, F b) { return trunc(a / b); }

// NumPy's floor_divide, but for infinities, of and by which it is the floor of the quotient.
template <class F> __device__ inline F penstock_floor_div_float(F a, F b) {
    if (b == 0 || a - a != 0 || b - b != 0) return floor(a / b);
    const F rem = fmod(a, b);
    F quotient = (a - rem) / b;
    if (rem != 0 && (b < 0) != (rem < 0)) quotient = quotient - 1;
    if (quotient == 0) return copysign(F(0), a / b);
    const F whole = floor(quotient);
    return quotient - whole > F(0.5) ? whole + 1 : whole;
}

// NumPy's remainder.
template <class F> __device__ inline F penstock_floor_mod_float(F a, F b) {
    const F rem = fmod(a, b);
    if (b == 0 || rem != rem) return rem;
    if (rem == 0) return copysign(F(0), b);
    return (b < 0) != (rem < 0) ? rem + b : rem;
}

// What a thread keeps of the faults that it met: device code cannot raise, so each fault has a
// number, and the lowest that any thread met is found in a word that the host reads.
struct penstock_checks {
    unsigned int site = 0;
    unsigned int fault = ~0u;

    __device__ void report(unsigned int* word, unsigned int first_site) const {
        if (fault != ~0u) atomicMin(word, first_site + fault);
    }

    // Whether the operand is one that the helper takes; notes the fault of the current site where it is not.
    __device__ bool takes(bool fit) {
        if (!fit && site < fault) fault = site;
        return fit;
    }
    template <class T> __device__ bool divides(penstock_int<T> b) { return takes(b != 0); }

    // `x` to the `n`, wrapping. 0 for a negative `n`.
    template <class T> __device__ penstock_int<T> penstock_pow(penstock_int<T> x, penstock_int<T> n) {
        if (!takes(!(n < 0))) return 0;
        penstock_int<T> result = 1;
        for (T rest = n.v; rest != 0; rest = T(rest >> 1)) {
            if (rest & 1) result = result * x;
            x = x * x;
        }
        return result;
    }

    // The quotient and remainder of C; that of lowest / -1 wraps. Zeros where `b` is zero.
    template <class T> __device__ penstock_int<T> penstock_trunc_div(penstock_int<T> a, penstock_int<T> b) {
        return !divides(b) ? penstock_int<T>(0) : (penstock_int<T>::is_signed && b == -1 ? -a : penstock_int<T>(T(a.v / b.v)));
    }
    template <class T> __device__ penstock_int<T> penstock_trunc_mod(penstock_int<T> a, penstock_int<T> b) {
        return !divides(b) || (penstock_int<T>::is_signed && b == -1) ? penstock_int<T>(0) : penstock_int<T>(T(a.v % b.v));
    }
    // The quotient rounded down, and the remainder with the sign of `b`.
    template <class T> __device__ penstock_int<T> penstock_floor_div(penstock_int<T> a, penstock_int<T> b) {
        const penstock_int<T> q = penstock_trunc_div(a, b), r = penstock_trunc_mod(a, b);
        return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
    }
    template <class T> __device__ penstock_int<T> penstock_floor_mod(penstock_int<T> a, penstock_int<T> b) {
        const penstock_int<T> r = penstock_trunc_mod(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }

    __device__ float penstock_trunc_div(float a, float b) { return penstock_trunc_div_float(a, b); }
    __device__ double penstock_trunc_div(double a, double b) { return penstock_trunc_div_float(a, b); }
    __device__ float penstock_trunc_mod(float a, float b) { return fmod(a, b); }
    __device__ double penstock_trunc_mod(double a, double b) { return fmod(a, b); }
    __device__ float penstock_floor_div(float a, float b) { return penstock_floor_div_float(a, b); }
    __device__ double penstock_floor_div(double a, double b) { return penstock_floor_div_float(a, b); }
    __device__ float penstock_floor_mod(float a, float b) { return penstock_floor_mod_float(a, b); }
    __device__ double penstock_floor_mod(double a, double b) { return penstock_floor_mod_float(a, b); }
};

// --- transcendental functions ------------------------------------------------------------------


// The single-precision library function loses digits near its zeros.
__device__ inline float penstock_lgamma(float x) { return float(lgamma(double(x))); }
__device__ inline double penstock_lgamma(double x) { return lgamma(x); }

__device__ inline double penstock_digamma(double x) {
    const double pi = 3.141592653589793;
    if (x == 0) return copysign(penstock_f64_of_bits(0x7ff0000000000000ull), -x);
    double reflected = 0;
    if (x < 0) {
        const double r = x - floor(x);
        if (r == 0) return penstock_f64_of_bits(0x7ff8000000000000ull);
        reflected = pi / tan(pi * r);
        x = 1 - x;
    }
    // The steps of `gamma::digamma` in the CPU's kernels.
    const double first = x < 8 ? 1 / x : 0;
    if (x < 8) x += 1;
    double above = 0, below = 1;
    for (; x < 8; x += 1) {
        above = fma(above, x, below);
        below = below * x;
    }
    const double r = 1 / x, z = r * r;
    double tail = 43867.0 / 14364;
    tail = fma(tail, z, -3617.0 / 8160);
    tail = fma(tail, z, 1.0 / 12);
    tail = fma(tail, z, -691.0 / 32760);
    tail = fma(tail, z, 1.0 / 132);
    tail = fma(tail, z, -1.0 / 240);
    tail = fma(tail, z, 1.0 / 252);
    tail = fma(tail, z, -1.0 / 120);
    tail = fma(tail, z, 1.0 / 12);
    return log(x) - 0.5 * r - tail * z - above / below - first - reflected;
}
__device__ inline float penstock_digamma(float x) { return float(penstock_digamma(double(x))); }

// --- conversion --------------------------------------------------------------------------------

// A value as another type: integers keep the low bits, floats truncate and saturate (NaN gives 0),
// anything to bool is `!= 0`.
template <class R> struct penstock_cast_to {
    template <class A> __device__ static R of(A x) { return R(x); }
};
template <> struct penstock_cast_to<bool> {
    template <class A> __device__ static bool of(A x) { return x != 0; }
    __device__ static bool of(bool x) { return x; }
};
template <class T> struct penstock_cast_to<penstock_int<T>> {
    typedef penstock_int<T> R;
    template <class O> __device__ static R of(penstock_int<O> x) { return R(x); }
    __device__ static R of(bool x) { return R(int(x)); }
    __device__ static R of(float x) { return R(double(x)); }
    __device__ static R of(double x) { return R(x); }
};
// A double as a float to be rounded once more, to a 16-bit float: inexact results get their lowest
// bit set, so that the second rounding is as good as a single one.
__device__ inline float penstock_round_to_odd(double x) {
    const float nearest = float(x);
    const double back = nearest;
    unsigned int bits = penstock_bits_of_f32(nearest);
    if (back == x || x != x || penstock_is_inf(nearest)) return nearest;
    if (fabs(back) > fabs(x)) bits -= 1;
    return penstock_f32_of_bits(bits | 1);
}

// Stored types as targets: the value as it would come back from one.
template <class H> struct penstock_cast_to_half {
    template <class A> __device__ static float of(A x) { return penstock_round_to<H>(float(x)); }
    __device__ static float of(double x) { return penstock_round_to<H>(penstock_round_to_odd(x)); }
};
template <> struct penstock_cast_to<f16> : penstock_cast_to_half<f16> {};
template <> struct penstock_cast_to<bf16> : penstock_cast_to_half<bf16> {};
template <> struct penstock_cast_to<b8> : penstock_cast_to<bool> {};

// To complex numbers; of those the real part is another type's value, and bool's whether it is not zero.
template <class F> struct penstock_cast_to<penstock_complex<F>> {
    template <class A> __device__ static penstock_complex<F> of(A x) { return penstock_complex<F>(penstock_cast_to<F>::of(x), F(0)); }
    template <class G> __device__ static penstock_complex<F> of(penstock_complex<G> x) { return penstock_complex<F>(F(x.re), F(x.im)); }
};
template <class R> struct penstock_cast_from_complex {
    template <class F> __device__ static auto of(penstock_complex<F> x) -> decltype(penstock_cast_to<R>::of(x.re)) {
        return penstock_cast_to<R>::of(x.re);
    }
};
template <> struct penstock_cast_from_complex<b8> : penstock_cast_to<bool> {};
template <class G> struct penstock_cast_from_complex<penstock_complex<G>> : penstock_cast_to<penstock_complex<G>> {};

template <class R, class A> __device__ inline auto penstock_cast(A x) -> decltype(penstock_cast_to<R>::of(x)) {
    return penstock_cast_to<R>::of(x);
}
template <class R, class F> __device__ inline auto penstock_cast(penstock_complex<F> x)
    -> decltype(penstock_cast_from_complex<R>::of(x)) {
    return penstock_cast_from_complex<R>::of(x);
}
