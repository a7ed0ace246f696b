//! What every function gives for nulls, NaN, zeros, infinities and the ends of its type's range.

mod arithmetic;
mod choice;
mod folding;
mod logic;
