// Iterations of a loop by one block of threads: each kernel of the loop is a function here, a phase, in a namespace of its own.

// The number of the block of threads that a phase runs as, or how many of them there are.
struct penstock_blocks { unsigned int x; };

// What an argument is stored as: those that a kernel has in constant memory are passed on by reference.
template <class T> struct penstock_stored { typedef T type; };
template <class T> struct penstock_stored<const T&> { typedef T type; };

// Runs a phase as one of `count` blocks of threads, with the arguments that begin at these words.
template <class... P, class... W> __device__ inline void penstock_phase(
    void (*phase)(penstock_blocks, penstock_blocks, P...), const unsigned int block, const unsigned int count, const W&... words
) {
    phase(penstock_blocks{block}, penstock_blocks{count}, reinterpret_cast<const typename penstock_stored<P>::type&>(words)...);
}

