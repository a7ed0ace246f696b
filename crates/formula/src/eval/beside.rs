//! Inputs of an expression besides the columns of its own row: rows at a fixed distance, the row's position, whole
//! columns, the clock. This module only names them; the engine, which knows rows and time, provides the values.

use arrow_array::ArrayRef;

use crate::error::RowError;
use crate::eval::bound::Bound;
use crate::tree::expr::Expr;
use crate::tree::function::Function;

/// An input that is no column of the row itself. Its chunk stands behind those of [`Bound::inputs`].
#[derive(Clone, Debug)]
pub enum ContextInput {
    /// The value that `of` has so many rows earlier (negative: later); null where there is no such row.
    Neighbour {
        /// The distance.
        by: i64,
        /// What has a value there.
        of: Box<Bound>,
    },
    /// The position of the row, Int64.
    Position,
    /// The key of the row, Int64.
    RowKey,
    /// The key of the row as it is drawn for, Int64: where rows move it is not computed anew.
    Draw,
    /// How many rows the table has, Int64.
    Rows,
    /// The cell of a column at the position that `index` gives; null outside the table.
    Element {
        /// The column of the schema.
        column: usize,
        /// The position, Int64.
        index: Box<Bound>,
    },
    /// A value of all cells of a column together: one for all rows.
    Whole {
        /// The column of the schema.
        column: usize,
        /// What it is, over one list that holds the cells.
        of: Box<Bound>,
    },
    /// The cells of a column from one position to before another, as a list; those outside the table are left out.
    Part {
        /// The column of the schema.
        column: usize,
        /// The first position, Int64.
        from: Box<Bound>,
        /// How many, Int64.
        length: Box<Bound>,
    },
    /// A value that depends on the clock alone: one for all rows of a step.
    Clock(Box<Bound>),
    /// The start of the step, in nanoseconds of UTC. Stands in what [`ContextInput::Clock`] holds, and nowhere else.
    Now,
}

/// Which rows and columns a value depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Columns read, each with how many rows earlier (negative: later).
    pub reads: Vec<(i64, usize)>,
    /// The farthest earlier row that matters.
    pub back: u64,
    /// The farthest later row that matters.
    pub ahead: u64,
    /// Whether it depends on the clock.
    pub clock: bool,
    /// Whether it depends on more of the clock than the date.
    pub instant: bool,
    /// Whether it depends on the position of its row, or on all rows.
    pub position: bool,
    /// Whether it depends on the key of its row.
    pub key: bool,
    /// Whether it depends on cells of any row.
    pub whole: bool,
}

impl Bound {
    /// What it reads beside the columns of its own row, in the order in which `evaluate` takes it.
    pub fn context_inputs(&self) -> &[ContextInput] {
        &self.context_inputs
    }

    /// Which rows and columns its value depends on.
    pub fn reach(&self) -> Dependencies {
        let mut reach = Dependencies::default();
        self.walk(0, &mut reach);
        reach
    }

    fn walk(&self, by: i64, reach: &mut Dependencies) {
        for column in &self.inputs {
            if !reach.reads.contains(&(by, *column)) {
                reach.reads.push((by, *column));
            }
        }
        for beside in self.context_inputs.iter() {
            match beside {
                ContextInput::Neighbour { by: more, of } => {
                    let by = by.saturating_add(*more);
                    reach.back = reach.back.max(u64::try_from(by).unwrap_or(0));
                    reach.ahead = reach.ahead.max(if by < 0 { by.unsigned_abs() } else { 0 });
                    of.walk(by, reach);
                }
                ContextInput::Position => reach.position = true,
                ContextInput::RowKey => reach.key = true,
                ContextInput::Draw => {}
                ContextInput::Rows => reach.whole = true,
                ContextInput::Element { index, .. } => {
                    reach.whole = true;
                    index.walk(by, reach);
                }
                ContextInput::Whole { .. } => reach.whole = true,
                ContextInput::Part { from, length, .. } => {
                    reach.whole = true;
                    from.walk(by, reach);
                    length.walk(by, reach);
                }
                ContextInput::Clock(part) => {
                    reach.clock = true;
                    reach.instant |= !part.daily;
                }
                ContextInput::Now => (reach.clock, reach.instant) = (true, true),
            }
        }
    }

    /// The value of an expression of the clock alone, at this time: an array of one row.
    pub fn at_time(&self, now: &ArrayRef) -> Result<ArrayRef, RowError> {
        let inputs: Vec<ArrayRef> = self.context_inputs.iter().map(|_| now.clone()).collect();
        self.evaluate(&inputs, 1)
    }
}

impl Expr {
    /// Whether it reads anything but the columns of its own row: neighbours, positions, the clock.
    pub fn needs_context(&self) -> bool {
        self.reads_neighbours() || self.needs_more_than_neighbours()
    }

    /// Whether it reads rows at a fixed distance.
    pub fn reads_neighbours(&self) -> bool {
        matches!(self, Expr::Call { function: Function::Shift { .. }, .. })
            || self.children().any(Expr::reads_neighbours)
    }

    /// Whether it reads positions, keys, whole columns, random numbers or the clock. Row keys that are aggregated are a column.
    pub fn needs_more_than_neighbours(&self) -> bool {
        if let Expr::Aggregate { inputs, .. } = self {
            return inputs.iter().any(Expr::aggregates_what_moves);
        }
        self.is_beside() || self.children().any(Expr::needs_more_than_neighbours)
    }

    fn is_beside(&self) -> bool {
        matches!(
            self,
            Expr::Call {
                function: Function::Position
                    | Function::RowKey
                    | Function::Now
                    | Function::Random { .. }
                    | Function::Element
                    | Function::Array
                    | Function::Rows,
                ..
            }
        )
    }

    fn aggregates_what_moves(&self) -> bool {
        match self {
            Expr::Call { function: Function::RowKey, .. } => false,
            Expr::Call { args, .. } if !self.is_beside() => args.iter().any(Expr::aggregates_what_moves),
            other => other.needs_more_than_neighbours(),
        }
    }

    /// Whether a random number stands in it: two evaluations differ.
    pub fn is_volatile(&self) -> bool {
        matches!(self, Expr::Call { function: Function::Random { .. }, .. }) || self.children().any(Expr::is_volatile)
    }

    /// Whether a random number without a seed stands in it: no two evaluations are meant to agree.
    pub fn is_unseeded(&self) -> bool {
        matches!(self, Expr::Call { function: Function::Random { seed: None, .. }, .. })
            || self.children().any(Expr::is_unseeded)
    }

    /// Whether a function of the host stands in it.
    pub fn calls_host(&self) -> bool {
        matches!(self, Expr::Host { .. }) || self.children().any(Expr::calls_host)
    }

    /// Whether `now()` stands in it.
    pub fn reads_clock(&self) -> bool {
        matches!(self, Expr::Call { function: Function::Now, .. }) || self.children().any(Expr::reads_clock)
    }
}
