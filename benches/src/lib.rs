//! Generators shared by the benchmarks.
