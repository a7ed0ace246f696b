//! Loops compiled for the widest vectors that the processor has, and memory that it fetches ahead.
//!
//! A plain loop over plain values is compiled for what every processor of its kind has, which on x86-64 are vectors of 128
//! bits. [`widest`] runs a [`Loop`] that was compiled for wider ones too, where the processor has them. Its values are the
//! same: no instruction of those that are added rounds otherwise, and none is fused with another.
#![allow(unsafe_code, reason = "instructions that are there only on some processors")]

mod prefetch;

pub use prefetch::{prefetch, prefetch_slice};

/// How many widths of vectors are used, the narrowest first; laws draw it, so that each is proved.
#[cfg(target_arch = "x86_64")]
static WIDTHS: limits::Size = limits::Size::new("simd.WIDTHS", 3);

/// A loop over plain values, and what it reads and writes.
///
/// It is a method and no closure, because only what is inlined is compiled for wider vectors: a closure is inlined where the
/// compiler likes, and a loop of three callers it does not like.
pub trait Loop {
    /// What the loop makes.
    type Made;

    /// Runs the loop, compiled for vectors of so many bits. Implementations are `#[inline(always)]`, and so is all that they
    /// call and that is not tiny.
    fn run<const BITS: usize>(self) -> Self::Made;
}

/// Runs a loop, compiled for the widest vectors that there are.
///
/// ```
/// struct Above<'a>(&'a [f64], &'a mut [bool]);
///
/// impl simd::Loop for Above<'_> {
///     type Made = ();
///
///     #[inline(always)]
///     fn run<const BITS: usize>(self) {
///         self.1.iter_mut().zip(self.0).for_each(|(above, value)| *above = *value > 2.0);
///     }
/// }
///
/// let mut above = [false; 3];
/// simd::widest(Above(&[1.0, 5.0, 3.0], &mut above));
/// assert_eq!(above, [false, true, true]);
/// ```
#[inline]
pub fn widest<L: Loop>(work: L) -> L::Made {
    #[cfg(target_arch = "x86_64")]
    match x86::widest(WIDTHS.get()) {
        // SAFETY: the processor has these instructions.
        x86::Vectors::Of512 => return unsafe { x86::of_512(work) },
        // SAFETY: as above.
        x86::Vectors::Of256 => return unsafe { x86::of_256(work) },
        x86::Vectors::Of128 => {}
    }
    work.run::<128>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Loop;

    /// The bits of the widest vectors.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Vectors {
        Of128,
        Of256,
        Of512,
    }

    /// The widest of the first so many.
    #[inline]
    pub(crate) fn widest(widths: usize) -> Vectors {
        if widths < 2 {
            return Vectors::Of128;
        }
        let has_512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2");
        match (has_512 && widths > 2, is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")) {
            (true, _) => Vectors::Of512,
            (false, true) => Vectors::Of256,
            (false, false) => Vectors::Of128,
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
    pub(crate) fn of_512<L: Loop>(work: L) -> L::Made {
        work.run::<512>()
    }

    #[target_feature(enable = "avx2,bmi2")]
    pub(crate) fn of_256<L: Loop>(work: L) -> L::Made {
        work.run::<256>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum and a product that one instruction would round but once.
    struct Unfused<'a>(&'a [f64], &'a [f64]);

    impl Loop for Unfused<'_> {
        type Made = Vec<f64>;

        #[inline(always)]
        fn run<const BITS: usize>(self) -> Vec<f64> {
            self.0.iter().zip(self.1).map(|(a, b)| a * b + a).collect()
        }
    }

    #[test]
    fn values_are_the_same_on_every_width() {
        let a: Vec<f64> = (1..4_000).map(|at| 1.0 / f64::from(at)).collect();
        let b: Vec<f64> = a.iter().map(|a| 3.0 * a - 0.1).collect();
        let plain: Vec<f64> = a.iter().zip(&b).map(|(a, b)| std::hint::black_box(a * b) + a).collect();
        assert_eq!(widest(Unfused(&a, &b)), plain);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the processor has these instructions.
            assert_eq!(unsafe { x86::of_256(Unfused(&a, &b)) }, plain);
        }
    }

    /// A loop that fails.
    struct Failing;

    impl Loop for Failing {
        type Made = ();

        #[inline(always)]
        fn run<const BITS: usize>(self) {
            if std::hint::black_box(true) {
                panic!("of the loop")
            }
        }
    }

    #[test]
    fn a_panic_comes_through() {
        assert!(std::panic::catch_unwind(|| widest(Failing)).is_err());
    }
}
