//! What runs on from row to row of a group: a state, and what a row makes of it.

use column::Chunk;

use crate::error::Error;

/// Why a row has no value and the table fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A null, which the call refuses.
    Null,
    /// A NaN, which the call refuses.
    Nan,
    /// The stamp is less than one before it.
    Back,
    /// The value is beyond the range of its type.
    Beyond,
}

/// The arithmetic of one new column.
pub(super) trait Kernel: Send + Sync + 'static {
    /// What is read of a row.
    type In: Clone + Send + Sync;
    /// What is known of the rows so far; the default of none.
    type State: Clone + Default + Send + Sync;
    /// The value of a row.
    type Out: Clone + Send + Sync;

    /// What is read of rows, of the columns that the kernel was made for.
    fn read(&self, cells: &[Chunk]) -> Result<Vec<Self::In>, Error>;

    /// Takes in a row and gives its value.
    fn step(&self, state: &mut Self::State, input: &Self::In) -> Result<Option<Self::Out>, Fault>;

    /// Whether the value of a row with this input tells all of the state that it leaves: where it is as it was, so are all
    /// behind it.
    fn tells(&self, input: &Self::In) -> bool;

    /// Whether two states are one; false if that is not known.
    fn same(&self, one: &Self::State, other: &Self::State) -> bool;

    /// Values as cells.
    fn write(&self, values: Vec<Option<Self::Out>>) -> Result<Chunk, Error>;
}
