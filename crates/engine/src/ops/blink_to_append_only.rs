//! `blink_to_append_only`: every row of a blink table, kept.
//!
//!   in   + 0 A             out   + 0 A
//!   in   - 0    + 1 B      out   + 1 B
//!   in   - 1               out   nothing
//!
//! Rows are copied. Cost of an update: the rows that come.

use graph::Moment;

use super::arrivals::{self, End};
use super::asked::Asked;
use crate::driver::operation::{Input, Operation, Start};
use crate::error::Error;
use crate::table::handle::Table;
use crate::table::request::Request;

const NO_BLINK: &str = "the table is no blink table: its rows stay, or are removed and modified, and no append-only table \
                        follows them; aggregate it, or take tf.ring_table(t, n)";

/// All rows of a blink table that ever came.
pub struct BlinkToAppendOnly {
    request: Request,
}

impl Default for BlinkToAppendOnly {
    fn default() -> BlinkToAppendOnly {
        BlinkToAppendOnly { request: Request::new("blink_to_append_only", &Asked::Kind) }
    }
}

impl Operation for BlinkToAppendOnly {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        if !inputs[0].table.attributes().blink {
            return Err(Error::invalid(&self.request.name, NO_BLINK));
        }
        arrivals::start(End::Head, u64::MAX, &inputs[0], at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{Drawn, Found, Plain, any_table, run_law, still_graph};

    fn kept(tables: &[Table]) -> Result<Table, Error> {
        attach(&BlinkToAppendOnly::default(), tables)
    }

    #[test]
    fn a_table_whose_rows_stay_is_refused() {
        let input = Drawn::new(&still_graph(), "0 A | 1 B");
        let refused = kept(std::slice::from_ref(input.table())).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|text| text.starts_with("blink_to_append_only: the table is no blink table")));
    }

    #[test]
    fn law() {
        run_law(&[any_table().blink(true)], 150, kept, |inputs: &[Plain], found| match found {
            Found::Rows(rows) => inputs[0].first_difference_in_order(rows).map_or(Ok(()), Err),
            Found::Failed(text) => Err((*text).into()),
        });
    }
}
