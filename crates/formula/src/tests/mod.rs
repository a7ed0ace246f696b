//! Tests of every function over nulls, NaN, zeros, infinities and the ends of its type's range.

mod arithmetic;
mod cast;
mod choice;
mod elements;
mod folding;
mod format;
mod formula;
mod host;
mod lists;
mod logic;
mod nested;
mod promotion;
mod random;
mod text;
mod time;
