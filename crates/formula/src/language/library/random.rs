//! Random values: the functions of a formula that draw them.

use arrow_schema::DataType;

use crate::tree::namespaces::Random;

/// Name, what is drawn, how many bounds are given, and the type of the result where it is another.
pub(crate) const DRAWS: &[(&str, Random, usize, Option<DataType>)] = &[
    ("random", Random::Float, 0, None),
    ("randomDouble", Random::Float, 2, None),
    ("randomFloat", Random::Float, 2, Some(DataType::Float32)),
    ("randomInt", Random::Int, 2, Some(DataType::Int32)),
    ("randomLong", Random::Int, 2, None),
    ("randomBool", Random::Bool, 0, None),
    ("randomGaussian", Random::Gaussian, 2, None),
];

/// Names of the random functions.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    DRAWS.iter().map(|(name, ..)| -> &'a str { name })
}
