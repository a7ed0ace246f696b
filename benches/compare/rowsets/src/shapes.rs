//! The shapes of keys.

/// Two sets of one shape, which overlap without being equal.
pub struct Shape {
    pub name: &'static str,
    pub left: Vec<u64>,
    pub right: Vec<u64>,
}

/// A xorshift generator with a fixed seed: every run and every peer sees the same keys.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1) % end
    }
}

const KEYS: u64 = 1_000_000;

fn dense(count: u64, percent: u64, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..count * 100 / percent).filter(|_| random.below(100) < percent).collect()
}

fn clustered(count: u64, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut keys = Vec::new();
    let mut from = 0;
    while keys.len() < count as usize {
        let len = 1 + random.below(2000);
        from += 1 + random.below(2000);
        keys.extend(from..from + len);
        from += len;
    }
    keys
}

fn sparse(count: u64, below: u64, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut keys: Vec<u64> = (0..count).map(|_| random.below(below)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Every shape once.
pub fn all() -> Vec<Shape> {
    let mut shapes = of(KEYS);
    let sparse = |seed| sparse(10 * KEYS, 1 << 40, seed);
    shapes.push(Shape { name: "sparse, 10 million over 2^40", left: sparse(7), right: sparse(1_234_567) });
    shapes
}

/// Every shape with ten million keys.
pub fn large() -> Vec<Shape> {
    of(10 * KEYS)
}

fn of(count: u64) -> Vec<Shape> {
    let shape = |name, made: &dyn Fn(u64) -> Vec<u64>| Shape { name, left: made(7), right: made(1_234_567) };
    let (sparse_name, below) = match count {
        KEYS => ("sparse, 1 million over 2^37", 1 << 37),
        _ => ("sparse, 10 million over 2^40", 1 << 40),
    };
    vec![
        shape("one range", &|seed| (seed % 1000..count).collect()),
        shape("1 %", &|seed| dense(count, 1, seed)),
        shape("10 %", &|seed| dense(count, 10, seed)),
        shape("50 %", &|seed| dense(count, 50, seed)),
        shape("99 %", &|seed| dense(count, 99, seed)),
        shape("clustered", &|seed| clustered(count, seed)),
        shape("sorted append", &|seed| {
            (0..count).filter(|key| key % 1000 != seed % 1000 || *key > count / 2).collect()
        }),
        shape(sparse_name, &|seed| sparse(count, below, seed)),
        shape("every other", &|seed| (0..count).map(|key| key * 2 + seed % 2).collect()),
        shape("full with holes", &|seed| (0..count).filter(|key| key % 65_536 != seed % 65_536).collect()),
        shape("far apart", &|seed| {
            (0..1000u64).flat_map(|piece| (piece << 40) + seed % 7..(piece << 40) + count / 1000).collect()
        }),
    ]
}
