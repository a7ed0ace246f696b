//! Keys in order, a byte at a time: no key is compared with another.

use crate::sizes::RADIX_FROM;

const BYTES: usize = size_of::<u64>();

/// Sorts keys, duplicates and all.
pub(crate) fn sort(keys: &mut Vec<u64>) {
    if keys.len() < RADIX_FROM.get() {
        return keys.sort_unstable();
    }
    let mut counts = vec![[0usize; 256]; BYTES];
    for key in keys.iter() {
        counts.iter_mut().zip(key.to_le_bytes()).for_each(|(counts, byte)| counts[byte as usize] += 1);
    }
    let mut sorted = vec![0; keys.len()];
    for (at, counts) in counts.iter_mut().enumerate() {
        // A byte that all keys share orders nothing.
        if counts.contains(&keys.len()) {
            continue;
        }
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        for &key in keys.iter() {
            let place = &mut counts[key.to_le_bytes()[at] as usize];
            sorted[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    #[test]
    fn bytes_order_as_comparisons_do() {
        let mut random = Rng::with_seed(5);
        for (count, shift) in [(0, 0), (1, 0), (5000, 0), (5000, 24), (70_000, 40), (70_000, 56), (3000, 63)] {
            let mut keys: Vec<u64> = (0..count).map(|_| random.u64(..) >> shift).collect();
            let mut plain = keys.clone();
            plain.sort_unstable();
            super::sort(&mut keys);
            assert_eq!(keys, plain);
        }
    }
}
