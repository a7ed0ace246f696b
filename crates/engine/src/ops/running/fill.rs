//! The last value for so many rows and no further, and how many rows ago it was.

use std::sync::Arc;

use arrow_array::{Array, Int64Array};
use column::Chunk;

use super::kernel::{Fault, Kernel};
use crate::error::Error;

/// What another kernel has, for at most so many rows without a value.
pub(super) struct Limited<K> {
    pub(super) inner: K,
    pub(super) limit: u64,
}

impl<T: Clone + Send + Sync, K: Kernel<In = Option<T>>> Kernel for Limited<K> {
    type In = Option<T>;
    /// What is known, and how many rows ago a value was.
    type State = (K::State, u64);
    type Out = K::Out;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<T>>, Error> {
        self.inner.read(cells)
    }

    #[inline]
    fn step(&self, (state, since): &mut (K::State, u64), input: &Option<T>) -> Result<Option<K::Out>, Fault> {
        let value = self.inner.step(state, input)?;
        // Beyond the limit no row tells another.
        *since = if input.is_some() { 0 } else { since.saturating_add(1).min(self.limit.saturating_add(1)) };
        Ok(value.filter(|_| *since <= self.limit))
    }

    fn tells(&self, input: &Option<T>) -> bool {
        input.is_some() && self.inner.tells(input)
    }

    fn same(&self, one: &(K::State, u64), other: &(K::State, u64)) -> bool {
        one.1 == other.1 && self.inner.same(&one.0, &other.0)
    }

    fn write(&self, values: Vec<Option<K::Out>>) -> Result<Chunk, Error> {
        self.inner.write(values)
    }
}

/// How many rows ago the last value was: 0 where the row has one, null before the first.
pub(super) struct Since;

impl Kernel for Since {
    /// Whether there is a value.
    type In = bool;
    type State = Option<i64>;
    type Out = i64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<bool>, Error> {
        let nulls = cells[0].logical_nulls();
        Ok((0..cells[0].len()).map(|at| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at))).collect())
    }

    #[inline]
    fn step(&self, state: &mut Option<i64>, input: &bool) -> Result<Option<i64>, Fault> {
        *state = if *input { Some(0) } else { state.map(|rows| rows + 1) };
        Ok(*state)
    }

    fn tells(&self, _: &bool) -> bool {
        true
    }

    fn same(&self, one: &Option<i64>, other: &Option<i64>) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<i64>>) -> Result<Chunk, Error> {
        Ok(Arc::new(Int64Array::from(values)))
    }
}
