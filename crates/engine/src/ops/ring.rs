//! `ring_table`: the last rows that ever came.
//!
//!   in   0 A    1 B    2 C        ring(2)   out   0 B    1 C
//!   in   + 7 D                              out   - 0    + 2 D
//!   in   - 1    - 7                         out   nothing: they came, and nothing came after them
//!   in   ~ 2 Z                              fails: which row of the ring it was, nobody knows
//!
//! Rows are copied, in the order in which they came; their keys grow. Cost of an update: the rows that come, and as many
//! that they push out.

use graph::{Moment, Step};

use super::arrivals::{self, End};
use super::asked::Asked;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::update::TableUpdate;

const MODIFIED: &str = "a row of its table was modified, and a ring keeps rows as they came; give it a table whose rows \
                        only come and go, such as an append_table or a blink_table";

/// The last rows that ever were added to a table.
pub struct Ring {
    request: Request,
    most: u64,
}

impl Ring {
    /// The last `rows` of them.
    pub fn new(rows: u64) -> Ring {
        Ring { request: Request::new("ring_table", &Asked::Ring { rows }), most: rows }
    }
}

impl Operation for Ring {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let start = arrivals::start(End::Tail, self.most, &inputs[0], at)?;
        Ok(Start { live: Box::new(RingLive(start.live)), ..start })
    }
}

struct RingLive(Box<dyn Live>);

impl Live for RingLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        if !inputs[0].update().modified.is_empty() {
            return Err(Error::data("ring_table", MODIFIED));
        }
        self.0.update(inputs, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{Found, Plain, any_table, check_steps, run_law};

    fn ring(table: &Table, rows: u64) -> Result<Table, Error> {
        attach(&Ring::new(rows), std::slice::from_ref(table))
    }

    #[test]
    fn rows_are_pushed_out_by_those_that_come() {
        check_steps(
            |table| ring(table, 2),
            "0 A | 1 B | 2 C",
            &[
                ("+ 7 D", "- 0 | + 2 D"),
                ("- 1 | - 7", ""),
                ("> [2..2]+3", ""),
                ("+ 1 E | + 2 F | + 9 G", "- [1..2] | + 3 F | + 4 G"),
                ("~ 9 H", "!a row of its table was modified"),
            ],
        );
    }

    #[test]
    fn law() {
        let judge = |inputs: &[Plain], found: &Found<'_>| {
            let Found::Rows(found) = found else { return Err("it failed".into()) };
            let came = &inputs[0].rows;
            let last = came[came.len().saturating_sub(7)..].to_vec();
            let wanted = Plain { schema: inputs[0].schema.clone(), rows: last };
            wanted.first_difference_in_order(found).map_or(Ok(()), Err)
        };
        run_law(&[any_table().blink(true)], 150, |tables| ring(&tables[0], 7), judge);
    }
}
