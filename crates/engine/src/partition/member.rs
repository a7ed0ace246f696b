//! A constituent, perhaps one that is made when it is asked for.

use std::sync::Arc;

use graph::{Step, UpdateGraph};

use super::made::Made;
use crate::error::Error;
use crate::table::handle::Table;

/// A constituent.
pub(crate) enum Member {
    /// It is there.
    Table(Table),
    /// What the lifted function of a transform makes of another one.
    Planned {
        /// The transform.
        made: Arc<Made>,
        /// The id of the constituent.
        id: u64,
        /// What the function is given.
        of: Box<Member>,
    },
}

impl Member {
    /// The table. It is made in this step, or while steps may run. Making one waits for no step, and takes no lock.
    pub(super) fn table(self, step: Option<(&UpdateGraph, Step)>) -> Result<Table, Error> {
        match self {
            Member::Table(table) => Ok(table),
            Member::Planned { made, id, of } => {
                let of = of.table(step)?;
                made.planned(step, id, of)
            }
        }
    }
}
