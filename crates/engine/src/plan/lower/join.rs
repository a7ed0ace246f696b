//! `join`: a left join with at most one match a row is a natural join, which keeps the rows of the left table; any other
//! has a row for each pair.

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{EquiJoin, NaturalJoin};
use crate::plan::spec::{EquiOptions, How, Matches, Validate};
use crate::table::handle::Table;

/// The table of a join.
pub(in crate::plan) fn join(call: &Call, left: &Table, right: &Table, options: EquiOptions) -> Result<Table, Error> {
    let both = [left.clone(), right.clone()];
    if options.how != How::Left || options.validate != Validate::ManyToOne {
        return call.attach(&EquiJoin::new(&call.method, left, right, options)?, &both);
    }
    let EquiOptions { on, suffix, nulls_equal, coalesce, .. } = &options;
    let names = right.schema().fields().iter().map(|field| (field.name().clone(), field.name().clone()));
    let all: Option<Vec<(String, String)>> = (!coalesce).then(|| names.collect());
    let (joins, suffix) = (all.as_deref(), Some(suffix.as_str()));
    let join = NaturalJoin::new(&call.method, left, right, on, joins, suffix, Matches::Error, *nulls_equal)?;
    call.attach(&join.validated(), &both)
}
