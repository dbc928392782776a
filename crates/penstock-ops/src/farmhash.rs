//! `Fingerprint64` of FarmHash (Pike, Alakuijala 2014; MIT licence): a hash of bytes that never changes.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

fn word(s: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| s[at + i]))
}

fn half(s: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(std::array::from_fn(|i| s[at + i])).into()
}

fn shift_mix(v: u64) -> u64 {
    v ^ v >> 47
}

fn mix(u: u64, v: u64, mul: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    shift_mix((v ^ a).wrapping_mul(mul)).wrapping_mul(mul)
}

fn short(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = K2.wrapping_add(2 * n as u64);
    match n {
        8.. => {
            let a = word(s, 0).wrapping_add(K2);
            let b = word(s, n - 8);
            let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(mul);
            mix(c, d, mul)
        }
        4.. => mix((n as u64).wrapping_add(half(s, 0) << 3), half(s, n - 4), mul),
        1.. => {
            let y = u64::from(s[0]) + (u64::from(s[n >> 1]) << 8);
            let z = n as u64 + (u64::from(s[n - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

/// The words that [`medium`] and [`longer`] share.
fn ends(s: &[u8], first: u64, mul: u64) -> (u64, u64, u64) {
    let n = s.len();
    let a = word(s, 0).wrapping_mul(first);
    let b = word(s, 8);
    let c = word(s, n - 8).wrapping_mul(mul);
    let d = word(s, n - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    (a, y, z)
}

fn medium(s: &[u8]) -> u64 {
    let mul = K2.wrapping_add(2 * s.len() as u64);
    let (_, y, z) = ends(s, K1, mul);
    mix(y, z, mul)
}

fn longer(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = K2.wrapping_add(2 * n as u64);
    let (a, y, z) = ends(s, K2, mul);
    let z = mix(y, z, mul);
    let e = word(s, 16).wrapping_mul(mul);
    let f = word(s, 24);
    let g = y.wrapping_add(word(s, n - 32)).wrapping_mul(mul);
    let h = z.wrapping_add(word(s, n - 24)).wrapping_mul(mul);
    mix(
        e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h),
        e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g),
        mul,
    )
}

/// Mixes 32 bytes with two seeds.
fn weak(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|i| word(s, at + i));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(x).wrapping_add(y);
    let b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(z), b.wrapping_add(c))
}

/// The state of the hash of a long string.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// Takes in the 64 bytes from `at` on.
    fn step(&mut self, s: &[u8], at: usize, mul: u64, scale: u64) {
        let State { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(s, at + 8)).rotate_right(37).wrapping_mul(mul);
        *y = y.wrapping_add(v.1).wrapping_add(word(s, at + 48)).rotate_right(42).wrapping_mul(mul);
        *x ^= w.1.wrapping_mul(scale);
        *y = y.wrapping_add(v.0.wrapping_mul(scale)).wrapping_add(word(s, at + 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(mul);
        *v = weak(s, at, v.1.wrapping_mul(mul), x.wrapping_add(w.0));
        *w = weak(s, at + 32, z.wrapping_add(w.1), y.wrapping_add(word(s, at + 16)));
        std::mem::swap(z, x);
    }
}

fn long(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let n = s.len();
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = SEED.wrapping_mul(K2).wrapping_add(word(s, 0));
    let mut state = State { x, y, z, v: (0, 0), w: (0, 0) };
    let rest = (n - 1) & 63;
    for at in (0..n - 1 - rest).step_by(64) {
        state.step(s, at, K1, 1);
    }
    let mul = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(rest as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.step(s, n - 64, mul, 9);
    let State { x, y, z, v, w } = state;
    mix(
        mix(v.0, w.0, mul).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z),
        mix(v.1, w.1, mul).wrapping_add(x),
        mul,
    )
}

/// The fingerprint of bytes.
pub(crate) fn fingerprint64(s: &[u8]) -> u64 {
    match s.len() {
        0..=16 => short(s),
        17..=32 => medium(s),
        33..=64 => longer(s),
        _ => long(s),
    }
}

#[cfg(test)]
mod tests {
    use super::fingerprint64;

    #[test]
    fn known_answers_of_the_reference_implementation() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for (n, want) in [
            (0, 0x9ae1_6a3b_2f90_404f),
            (3, 0x88cd_b7a0_66b2_8ed8),
            (7, 0x53fb_4403_55f1_79f7),
            (16, 0x7519_e05b_2673_5db1),
            (17, 0x170d_6ccd_9f1e_cfa3),
            (32, 0x0f4c_1ec6_9dd9_ab73),
            (33, 0x6c65_1c27_c078_8ea7),
            (64, 0x111d_69e0_0e57_02c7),
            (65, 0x6e17_f37e_c210_a00d),
            (128, 0xa703_58e3_1893_24c8),
            (129, 0x61f7_6ef3_b1d9_d73f),
            (1000, 0x5fae_fca0_8bf9_54a8),
        ] {
            assert_eq!(fingerprint64(&bytes[..n]), want, "{n}");
        }
    }
}
