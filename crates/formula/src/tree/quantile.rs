//! Which value a quantile is: a part of the way, and what is taken between two values.

use serde::{Deserialize, Serialize};

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part(u64);

impl Part {
    /// The middle.
    pub const HALF: Part = Part(0x3fe0_0000_0000_0000);

    /// None unless it lies between 0 and 1.
    pub fn new(part: f64) -> Option<Part> {
        (0.0..=1.0).contains(&part).then(|| Part((part + 0.0).to_bits()))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// What a quantile is between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Interpolation {
    /// The nearer one, the later in the middle.
    Nearest,
    /// The lesser.
    Lower,
    /// The greater.
    Higher,
    /// Their mean.
    Midpoint,
    /// As far between them as it lies.
    Linear,
}

impl Interpolation {
    const ALL: [Interpolation; 5] = [
        Interpolation::Nearest,
        Interpolation::Lower,
        Interpolation::Higher,
        Interpolation::Midpoint,
        Interpolation::Linear,
    ];
    /// What Python calls them.
    pub(crate) const NAMES: [&'static str; 5] = ["nearest", "lower", "higher", "midpoint", "linear"];

    /// The one that Python calls `name`.
    pub fn named(name: &str) -> Option<Interpolation> {
        Interpolation::NAMES.iter().position(|known| *known == name).map(|at| Interpolation::ALL[at])
    }

    /// What Python calls it.
    pub fn name(self) -> &'static str {
        Interpolation::NAMES[Interpolation::ALL.iter().position(|known| *known == self).unwrap_or(0)]
    }
}
