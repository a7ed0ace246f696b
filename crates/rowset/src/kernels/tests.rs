//! The plain bodies are the oracle of those with wider instructions.

use fastrand::Rng;

use super::*;

fn noise(seed: u64) -> Words {
    let mut random = Rng::with_seed(seed);
    std::array::from_fn(|at| match at % 5 {
        0 => u64::MAX,
        1 => 0,
        _ => random.u64(..),
    })
}

#[test]
fn wide_and_plain_agree() {
    for seed in 1..20 {
        let (left, right) = (noise(seed), noise(seed * 77));
        let mut counts = [0; STRIDES];
        let full = [[u64::MAX; WORDS], [0; WORDS]];
        for words in [left, right].iter().chain(&full) {
            let filled = fill(Room::new(MaybeUninit::uninit()), |at| words.as_chunks().0[at]);
            let bitmap = filled.bitmap();
            assert_eq!(filled.tally, tally(words, &mut counts));
            assert_eq!((bitmap.words, bitmap.before, bitmap.len), (*words, counts, filled.tally.keys));
            let plainly =
                Filled::new(Room::new(MaybeUninit::uninit()), |room| fill_body(room, |at| words.as_chunks().0[at]));
            assert_eq!((plainly.tally, plainly.bitmap().before), (filled.tally, counts));
        }
        for op in Op::ALL {
            let filled = combine(op, &left, &right, Room::new(MaybeUninit::uninit()));
            let plain: Words = std::array::from_fn(|at| op.words(left[at], right[at]));
            assert_eq!(filled.tally, tally(&plain, &mut counts));
            assert_eq!((filled.bitmap().words, filled.bitmap().before), (plain, counts));
        }
        let stream = |seed: u64| {
            let mut state = seed;
            move |bits: u32| {
                state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed >> 7;
                if bits == 64 { state } else { state & ((1 << bits) - 1) }
            }
        };
        let mut wide_counts = [0; STRIDES];
        let tally = tally(&left, &mut wide_counts);
        for pos in (0..tally.keys).step_by(31).chain([tally.keys - 1]) {
            let stride = wide_counts.partition_point(|&before| before as u32 <= pos) - 1;
            let found = select_from(&left, &wide_counts, stride, pos);
            assert_eq!(found, select_body_from(&left, &wide_counts, stride, pos, select_in_word));
            assert_eq!((rank(&left, &wide_counts, found), rank_body(&left, &wide_counts, found)), (pos, pos));
            let below = (0..found as usize).filter(|key| left[key / 64] >> (key % 64) & 1 == 1).count();
            assert_eq!((below, left[found as usize / 64] >> (found % 64) & 1), (pos as usize, 1));
        }
        let (mut wide_bits, mut plain_bits) = (Vec::new(), Vec::new());
        extract(&right, &left, |bits, count| wide_bits.push((bits, count)));
        extract_body(&right, &left, |bits, count| plain_bits.push((bits, count)), extract_plain);
        assert_eq!(wide_bits, plain_bits);
        let kept: u32 = right.iter().zip(&left).map(|(word, mask)| (word & mask).count_ones()).sum();
        assert_eq!(wide_bits.iter().map(|(bits, _)| bits.count_ones()).sum::<u32>(), kept);
        assert!(wide_bits.iter().all(|&(bits, count)| count == 64 || bits >> count == 0));
        for room in [1, 7, 8, 64, 65, 4096] {
            let (mut wide_keys, mut plain_keys) = (vec![0; room], vec![0; room]);
            let (mut wide_left, mut plain_left) = ((left[0], &left[1..], 0), (left[0], &left[1..], 0));
            let mut listed = Vec::new();
            loop {
                let (word, rest, base) = (&mut wide_left.0, &mut wide_left.1, &mut wide_left.2);
                let taken = list(word, rest, base, &mut wide_keys);
                let (word, rest, base) = (&mut plain_left.0, &mut plain_left.1, &mut plain_left.2);
                assert_eq!(taken, list_body(word, rest, base, &mut plain_keys, |key| key));
                assert_eq!((&wide_keys[..taken], wide_left), (&plain_keys[..taken], plain_left));
                listed.extend_from_slice(&wide_keys[..taken]);
                if taken < room {
                    break;
                }
            }
            let one_by_one: Vec<u64> =
                (0..1 << 16).filter(|key| left[key / 64] >> (key % 64) & 1 == 1).map(|key| key as u64).collect();
            assert_eq!(listed, one_by_one);
            let mut short = vec![0; tally.keys as usize];
            assert_eq!(list_block(&left, &mut short), tally.keys as usize);
            assert!(short.iter().map(|&key| key as u64).eq(listed));
            // Most words empty.
            let few: Words = std::array::from_fn(|at| {
                left[at]
                    & right[(at * 7) % WORDS]
                    & (right[at] << 13)
                    & if at % 3 > 0 { 0 } else { 0x8000_0100_0001_0001 }
            });
            let count = few.iter().map(|word| word.count_ones() as usize).sum();
            let (mut short, mut plain) = (vec![0; count], vec![0; count]);
            assert_eq!(list_block(&few, &mut short), count);
            list_body(&mut few[0].clone(), &mut &few[1..], &mut 0, &mut plain, |key| key as u16);
            assert_eq!(short, plain);
        }
        let wide = select(&left, stream(seed), Room::new(MaybeUninit::uninit()));
        let mut next = stream(seed);
        let plain = fill(Room::new(MaybeUninit::uninit()), |at| selected(&left, at, &mut next, deposit_plain));
        assert_eq!((wide.bitmap().words, wide.tally), (plain.bitmap().words, plain.tally));
    }
}

/// Two random lists of keys of `below`, near to each other or far apart, the ends of the range among them.
fn lists<K: Ord + Copy + TryFrom<u64>>(random: &mut impl FnMut(u64) -> u64, round: u64, top: u64) -> [Vec<K>; 2] {
    let spread = [80, 700, 65_536, top][random(4) as usize].min(top);
    let lens = [random(140), random(140) * (1 + round % 9)];
    let shared: Vec<u64> = (0..random(60)).map(|_| random(spread)).collect();
    lens.map(|len| {
        let mut keys: Vec<u64> = (0..len).map(|_| random(spread)).collect();
        keys.extend(shared.iter().filter(|_| random(3) > 0));
        // The ends of the range are where a sentinel would go wrong.
        keys.extend([0, 1, top - 1, top].into_iter().filter(|_| random(4) == 0));
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().filter_map(|key| K::try_from(key).ok()).collect()
    })
}

#[test]
fn vectors_and_ones_agree() {
    let mut state = 3u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) % below
    };
    let (mut out, mut plain, mut ints, mut plain_ints) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..4000 {
        let [left, right] = lists::<u16>(&mut random, round, u16::MAX as u64);
        let [wide_left, wide_right] = lists::<u32>(&mut random, round, u32::MAX as u64);
        for op in Op::ALL {
            let plain_len = crate::kernels::lists::merge(op, &left, &right, &mut plain);
            let len = merge_shorts(op, &left, &right, &mut out);
            assert_eq!(out[..len], plain[..plain_len], "{op:?} of {left:?} and {right:?}");
            let len = merge_shorts_by(false, op, &left, &right, &mut out);
            assert_eq!(out[..len], plain[..plain_len], "{op:?} of {left:?} and {right:?}, by eights");
            let plain_len = crate::kernels::lists::merge(op, &wide_left, &wide_right, &mut plain_ints);
            let len = merge_ints(op, &wide_left, &wide_right, &mut ints);
            assert_eq!(ints[..len], plain_ints[..plain_len], "{op:?} of {wide_left:?} and {wide_right:?}");
        }
    }
}
