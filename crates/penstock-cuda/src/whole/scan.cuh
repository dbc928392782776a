// Scans along the middle axis of three. Lines are taken in stretches, numbered in the order in which a line is walked. `E` is the element,
// `A` the type of what is carried, `carried` says how: `start` is carried into a line, `step` joins an element, `first` is the first result of
// an exclusive line. Where `FACTORS` is true, a line has factors, too.

// Carries an element on, and gives the result of its place.
__device__ inline A penstock_visit(A& acc, const E& x, const E& factor, bool first, bool exclusive) {
    const A before = acc;
#if FACTORS
    // The factor of the first element has nothing to multiply, not even if it is infinite.
    acc = first ? penstock_load(x) : penstock_load(factor) * before + penstock_load(x);
#else
    acc = carried::step(before, penstock_load(x));
#endif
    return !exclusive ? acc : first ? carried::first() : before;
}
