//! The generator by which `shuffle` draws: MT19937 of Matsumoto and Nishimura, seeded and read as Python's `random.Random` does it,
//! so that a seed means one order wherever it is drawn.

/// How many words the state has, and how far apart those are that are mixed.
const SIZE: usize = 624;
const APART: usize = 397;

pub(crate) struct Twister {
    state: [u32; SIZE],
    at: usize,
}

impl Twister {
    /// The generator of a seed.
    pub(crate) fn new(seed: u64) -> Twister {
        let key = [seed as u32, (seed >> 32) as u32];
        let key = if key[1] == 0 { &key[..1] } else { &key[..] };
        let mut state = [19_650_218u32; SIZE];
        for i in 1..SIZE {
            state[i] = mixed(state[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for k in 0..SIZE {
            let word = k % key.len();
            state[i] = (state[i] ^ mixed(state[i - 1], 1_664_525)).wrapping_add(key[word]).wrapping_add(word as u32);
            i = following(&mut state, i);
        }
        for _ in 1..SIZE {
            state[i] = (state[i] ^ mixed(state[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = following(&mut state, i);
        }
        state[0] = 1 << 31;
        Twister { state, at: SIZE }
    }

    /// A number from 0 to below 1, a multiple of 2⁻⁵³.
    pub(crate) fn draw(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    fn word(&mut self) -> u32 {
        if self.at == SIZE {
            self.twist();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    fn twist(&mut self) {
        for i in 0..SIZE {
            let y = self.state[i] & 0x8000_0000 | self.state[(i + 1) % SIZE] & 0x7fff_ffff;
            let odd = if y & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[i] = self.state[(i + APART) % SIZE] ^ y >> 1 ^ odd;
        }
        self.at = 0;
    }
}

fn mixed(word: u32, factor: u32) -> u32 {
    (word ^ word >> 30).wrapping_mul(factor)
}

/// The place behind `i` while a state is made; the first word is the last one.
fn following(state: &mut [u32; SIZE], i: usize) -> usize {
    if i + 1 < SIZE {
        return i + 1;
    }
    state[0] = state[SIZE - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_python() {
        // random.Random(seed).random(), and the 1000th of them.
        let cases = [
            (0, 0.8444218515250481, 0.4804125346981437),
            (7, 0.32383276483316237, 0.37786262968738116),
            ((1 << 62) + 12345, 0.4898862820590555, 0.2884564350334011),
        ];
        for (seed, first, last) in cases {
            let mut drawn = Twister::new(seed);
            let found: Vec<f64> = (0..1000).map(|_| drawn.draw()).collect();
            assert_eq!((found[0], found[999]), (first, last), "{seed}");
        }
    }
}
