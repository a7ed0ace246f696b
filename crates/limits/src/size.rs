//! Sizes at which code takes another path (splits, slices, packs, probes ahead), drawn by laws.
//!
//! Each crate names its sizes in one module. A release reads constants. A build with debug
//! assertions reads the scope of the thread: a seed and a name give a size from 1 to the real one, so that the
//! paths of large tables are walked by small ones, in whatever order sizes are asked for.

/// One such size: a number of rows, cells, bytes or entries.
#[derive(Debug)]
#[cfg_attr(not(debug_assertions), allow(dead_code, reason = "a release draws nothing"))]
pub struct Size {
    name: &'static str,
    real: usize,
    least: usize,
}

impl Size {
    /// A size that may be drawn from 1 on.
    pub const fn new(name: &'static str, real: usize) -> Size {
        Size::at_least(name, real, 1)
    }

    /// A size below which the code that reads it makes no sense.
    pub const fn at_least(name: &'static str, real: usize, least: usize) -> Size {
        assert!(least <= real && least > 0);
        Size { name, real, least }
    }

    /// What a release reads.
    pub const fn real(&self) -> usize {
        self.real
    }

    /// The size in force on this thread.
    #[inline]
    pub fn get(&self) -> usize {
        #[cfg(debug_assertions)]
        if let Some(seed) = scope::seed() {
            return self.drawn(seed);
        }
        self.real
    }

    /// The size in force on this thread, to compare with a count of rows.
    #[inline]
    pub fn rows(&self) -> u64 {
        self.get() as u64
    }

    #[cfg(debug_assertions)]
    fn drawn(&self, seed: u64) -> usize {
        const CHOICES: [usize; 8] = [1, 2, 3, 7, 64, 4096, usize::MAX, usize::MAX];
        // FNV-1a over the name, spread by the finaliser of SplitMix64.
        let name = self
            .name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut mixed = name ^ seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let choice = CHOICES[((mixed ^ (mixed >> 31)) % CHOICES.len() as u64) as usize];
        choice.clamp(self.least, self.real)
    }
}

#[cfg(debug_assertions)]
mod scope {
    use std::cell::Cell;

    thread_local! {
        static SEED: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(super) fn seed() -> Option<u64> {
        SEED.get()
    }

    pub(super) fn swap(seed: Option<u64>) -> Option<u64> {
        SEED.replace(seed)
    }
}

/// The sizes in force on a thread. Whoever hands work to another thread hands its scope on: a graph to the threads
/// of its steps, a split to its helpers. A value without content in a release.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    #[cfg(debug_assertions)]
    seed: Option<u64>,
}

impl Scope {
    /// What is in force on this thread.
    #[inline]
    pub fn current() -> Scope {
        Scope {
            #[cfg(debug_assertions)]
            seed: scope::seed(),
        }
    }

    /// Sizes drawn by `seed`, for laws; 0 stands for the real ones, so that what fails shrinks towards them.
    #[cfg(debug_assertions)]
    pub fn drawn(seed: u64) -> Scope {
        Scope { seed: (seed != 0).then_some(seed) }
    }

    /// Runs `work` with these sizes in force on this thread.
    #[inline]
    pub fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        #[cfg(debug_assertions)]
        let _back = {
            /// Puts back what was there, also when `work` panics.
            struct Back(Option<u64>);
            impl Drop for Back {
                fn drop(&mut self) {
                    scope::swap(self.0);
                }
            }
            Back(scope::swap(self.seed))
        };
        work()
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    static ROWS: Size = Size::new("ROWS", 1 << 16);
    static SLOTS: Size = Size::at_least("SLOTS", 64, 16);

    #[test]
    fn a_drawn_size_lies_between_its_bounds_and_is_the_same_each_time() {
        for seed in 1..1000 {
            let read = || Scope::drawn(seed).enter(|| (ROWS.get(), SLOTS.get()));
            let (rows, slots) = read();
            assert!((1..=1 << 16).contains(&rows) && (16..=64).contains(&slots), "{rows} {slots}");
            assert_eq!(read(), (rows, slots));
        }
        let drawn: std::collections::BTreeSet<usize> =
            (1..1000).map(|seed| Scope::drawn(seed).enter(|| ROWS.get())).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [1, 2, 3, 7, 64, 4096, 1 << 16]);
    }

    #[test]
    fn a_scope_ends_with_its_work_and_goes_where_it_is_handed() {
        assert_eq!(ROWS.get(), ROWS.real());
        let drawn = (1..).map(Scope::drawn).find(|scope| scope.enter(|| ROWS.get()) == 7).expect("a seed draws 7");
        drawn.enter(|| {
            let handed = Scope::current();
            let elsewhere = std::thread::spawn(move || (ROWS.get(), handed.enter(|| ROWS.get())));
            assert_eq!(elsewhere.join().ok(), Some((ROWS.real(), 7)));
            Scope::drawn(0).enter(|| assert_eq!(ROWS.get(), ROWS.real()));
            assert_eq!(ROWS.get(), 7);
        });
        assert_eq!(ROWS.get(), ROWS.real());
    }
}
