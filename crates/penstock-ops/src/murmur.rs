//! MurmurHash64A (Austin Appleby, 2008): a quick hash of bytes, for tables rather than for files.

const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The hash of a message.
pub(crate) fn murmur64(seed: u64, message: &[u8]) -> u64 {
    let mut hash = seed ^ (message.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = message.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        k ^= k >> SHIFT;
        hash = (hash ^ k.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    }
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ (hash >> SHIFT)
}

#[cfg(test)]
mod tests {
    use super::murmur64;

    #[test]
    fn hashes_depend_on_every_byte() {
        let all: std::collections::HashSet<u64> = (0..20).map(|n| murmur64(7, &vec![1; n])).collect();
        assert_eq!(all.len(), 20);
        // No byte and a zero seed are the fixed point of the mixing.
        assert_eq!(murmur64(0, &[]), 0);
    }
}
