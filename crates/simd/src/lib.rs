//! Loops compiled for the widest vectors that the processor has.
//!
//! A plain loop over plain values is compiled for what every processor of its kind has, which on x86-64 are vectors of 128
//! bits. [`widest`] runs a closure that was compiled for wider ones too, where the processor has them. Its values are the
//! same: no instruction of those that are added rounds otherwise, and none is fused with another.
#![allow(unsafe_code, reason = "instructions that are there only on some processors")]

/// How many widths of vectors are used, the narrowest first; laws draw it, so that each is proved.
#[cfg(target_arch = "x86_64")]
static WIDTHS: limits::Size = limits::Size::new("simd.WIDTHS", 3);

/// Runs `work`, compiled for the widest vectors that there are.
///
/// Only what is inlined into `work` is compiled so: give it a loop, not a call of one.
///
/// ```
/// let (values, mut above) = (vec![1.0, 5.0, 3.0], vec![false; 3]);
/// simd::widest(|| above.iter_mut().zip(&values).for_each(|(above, value)| *above = *value > 2.0));
/// assert_eq!(above, [false, true, true]);
/// ```
#[inline]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match x86::widest(WIDTHS.get()) {
        // SAFETY: the processor has these instructions.
        x86::Vectors::Of512 => return unsafe { x86::of_512(work) },
        // SAFETY: as above.
        x86::Vectors::Of256 => return unsafe { x86::of_256(work) },
        x86::Vectors::Of128 => {}
    }
    work()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
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
    pub(crate) fn of_512<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[target_feature(enable = "avx2,bmi2")]
    pub(crate) fn of_256<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum and a product that one instruction would round but once. Inlined, or it would be compiled for one width.
    #[inline(always)]
    fn unfused(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a * b + a).collect()
    }

    #[test]
    fn values_are_the_same_on_every_width() {
        let a: Vec<f64> = (1..4_000).map(|at| 1.0 / f64::from(at)).collect();
        let b: Vec<f64> = a.iter().map(|a| 3.0 * a - 0.1).collect();
        let plain: Vec<f64> = a.iter().zip(&b).map(|(a, b)| std::hint::black_box(a * b) + a).collect();
        assert_eq!(widest(|| unfused(&a, &b)), plain);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the processor has these instructions.
            assert_eq!(unsafe { x86::of_256(|| unfused(&a, &b)) }, plain);
        }
    }

    #[test]
    fn a_panic_comes_through() {
        let caught = std::panic::catch_unwind(|| {
            widest(|| {
                if std::hint::black_box(true) {
                    panic!("of the loop")
                }
            })
        });
        assert!(caught.is_err());
    }
}
