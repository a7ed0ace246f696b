//! Random values: the functions of a formula that draw them.

use arrow_schema::DataType;

use crate::tree::namespaces::Random;

/// A random function by its name.
pub(crate) struct Draw {
    pub(crate) name: &'static str,
    /// What is drawn.
    pub(crate) kind: Random,
    /// How many bounds are given.
    pub(crate) bounds: usize,
    /// The type of the result where it is another.
    pub(crate) to: Option<DataType>,
    pub(super) example: &'static str,
    pub(super) gives: &'static str,
}

const fn draw(
    name: &'static str,
    kind: Random,
    bounds: usize,
    to: Option<DataType>,
    example: &'static str,
    gives: &'static str,
) -> Draw {
    Draw { name, kind, bounds, to, example, gives }
}

pub(crate) const DRAWS: &[Draw] = &[
    draw("random", Random::Float, 0, None, "random()", "a Float64 from 0 to below 1"),
    draw("randomDouble", Random::Float, 2, None, "randomDouble(0, 10)", "a Float64 between two bounds"),
    draw(
        "randomFloat",
        Random::Float,
        2,
        Some(DataType::Float32),
        "randomFloat(0, 10)",
        "a Float32 between two bounds",
    ),
    draw("randomInt", Random::Int, 2, Some(DataType::Int32), "randomInt(1, 7)", "an Int32, the second bound left out"),
    draw("randomLong", Random::Int, 2, None, "randomLong(1, 7)", "an Int64, the second bound left out"),
    draw("randomBool", Random::Bool, 0, None, "randomBool()", "true or false"),
    draw(
        "randomGaussian",
        Random::Gaussian,
        2,
        None,
        "randomGaussian(0, 1)",
        "of the normal distribution with this mean and deviation",
    ),
];
