//! The numbers of hidden columns. A planner takes those after the ones that its table has.

/// The number of a new hidden column.
pub(super) fn taken(next: &mut usize) -> usize {
    *next += 1;
    *next - 1
}
