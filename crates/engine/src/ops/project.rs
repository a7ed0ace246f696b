//! `drop`, `rename`, `remove_blink`, and choosing columns: the same rows, some of the columns, other names.
//!
//!   in   ~ 1 X    drop X    out   nothing: no column that is left changed
//!
//! Cost of an update: the columns of K are mapped; rows and cells are shared.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use graph::{Moment, Step};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::row_errors::RowErrors;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::{ColumnSet, TableUpdate};

/// Some columns of a table under these names, in this order.
pub struct Project {
    request: Request,
    columns: Vec<(usize, String)>,
    keeps_blink: bool,
}

impl Project {
    /// The named columns, in this order.
    pub fn choose(table: &Table, names: &[String]) -> Result<Project, Error> {
        Project::chosen("select", table, names)
    }

    /// As [`Project::choose`], for a method of another name.
    pub(crate) fn chosen(operation: &str, table: &Table, names: &[String]) -> Result<Project, Error> {
        let columns: Result<Vec<_>, Error> =
            names.iter().map(|name| Ok((table.column_index(operation, name)?, name.clone()))).collect();
        Project::of(operation, columns?)
    }

    /// All columns but these.
    pub fn drop(table: &Table, names: &[String]) -> Result<Project, Error> {
        let gone: Result<Vec<usize>, Error> = names.iter().map(|name| table.column_index("drop", name)).collect();
        let gone = gone?;
        let fields = table.schema().fields().iter().enumerate();
        let columns =
            fields.filter(|(index, _)| !gone.contains(index)).map(|(index, field)| (index, field.name().clone()));
        Project::of("drop", columns.collect())
    }

    /// Other names for some columns: (old, new).
    pub fn rename(table: &Table, names: &[(String, String)]) -> Result<Project, Error> {
        let mut columns: Vec<(usize, String)> =
            table.schema().fields().iter().enumerate().map(|(index, field)| (index, field.name().clone())).collect();
        for (old, new) in names {
            columns[table.column_index("rename", old)?].1 = new.clone();
        }
        Project::of("rename", columns)
    }

    /// All columns; rows that live for one step are rows that come and go, as of any other table.
    pub fn without_blink(table: &Table) -> Result<Project, Error> {
        Ok(Project { keeps_blink: false, ..Project::all("remove_blink", table)? })
    }

    /// All columns, as they are.
    pub(crate) fn all(operation: &str, table: &Table) -> Result<Project, Error> {
        let names = table.schema().fields().iter().map(|field| field.name().clone());
        Project::of(operation, names.enumerate().collect())
    }

    pub(crate) fn of(operation: &str, columns: Vec<(usize, String)>) -> Result<Project, Error> {
        let mut seen = std::collections::HashSet::new();
        if let Some((_, name)) = columns.iter().find(|(_, name)| !seen.insert(name.as_str())) {
            return Err(Error::Duplicate { operation: operation.into(), name: name.clone() });
        }
        let request = Request::new(operation, &Asked::Project { columns: &columns });
        Ok(Project { request, columns, keeps_blink: true })
    }

    /// Where the rows that it shows were passed over before it.
    pub fn reporting_to(mut self, row_errors: Option<&RowErrors>) -> Project {
        self.request.row_errors = row_errors.map(RowErrors::sibling);
        self
    }
}

impl Operation for Project {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        let table = &inputs[0].table;
        let field =
            |(index, name): &(usize, String)| Arc::new(Field::clone(table.schema().field(*index)).with_name(name));
        let schema = Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()));
        let columns = self.columns.iter().map(|(index, _)| table.parts().columns[*index].clone()).collect();
        let renamed = renamed(table, &self.columns);
        let attributes = Attributes { blink: renamed.blink && self.keeps_blink, ..renamed };
        let parts = Parts { rows: table.parts().rows.clone(), columns, schema, attributes };
        let live = ProjectLive { columns: self.columns.iter().map(|(index, _)| *index).collect() };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

/// The attributes under the new names; what speaks of a column that is gone does not hold any more.
fn renamed(table: &Table, columns: &[(usize, String)]) -> Attributes {
    let name = |old: &String| {
        let index = table.schema().index_of(old).ok()?;
        columns.iter().find(|(from, _)| *from == index).map(|(_, name)| name.clone())
    };
    let old = table.attributes();
    let key: Option<Vec<String>> = old.key.iter().map(name).collect();
    let sorted_by = old.sorted_by.iter().map_while(|(column, descending)| Some((name(column)?, *descending))).collect();
    Attributes { key: key.unwrap_or_default(), sorted_by, ..old.clone() }
}

struct ProjectLive {
    columns: Vec<usize>,
}

impl Live for ProjectLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        let mut update = inputs[0].update().clone();
        update.columns = mapped(&update.columns, &self.columns);
        if update.columns.is_empty() {
            update.modified = rowset::RowSet::new();
        }
        Ok(update)
    }
}

/// The set of input columns as output columns: output `at` is input `columns[at]`.
pub(crate) fn mapped(changed: &ColumnSet, columns: &[usize]) -> ColumnSet {
    columns.iter().enumerate().filter(|(_, from)| changed.contains(**from)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_change_of_a_dropped_column_is_no_change() {
        let build = |table: &Table| attach(&Project::drop(table, &names(&["V"]))?, std::slice::from_ref(table));
        check_steps(build, "0 A 1 | 1 B 2", &[("~ 0 . 5", ""), ("~ 0 Z .", "~ 0 Z"), ("- 1", "- 1")]);
    }

    #[test]
    fn law() {
        let build = |table: &Table| attach(&Project::drop(table, &names(&["g", "t"]))?, std::slice::from_ref(table));
        check_law(&any_table(), 200, Compare::ByPosition, build, |input| model::ops::drop(input, &["g", "t"]));
    }

    #[test]
    fn law_of_rename() {
        let pairs = [("v".to_owned(), "w".to_owned()), ("k".to_owned(), "v".to_owned())];
        let build = |table: &Table| attach(&Project::rename(table, &pairs)?, std::slice::from_ref(table));
        check_law(&any_table(), 200, Compare::ByPosition, build, |input| {
            model::ops::rename(input, &[("v", "w"), ("k", "v")])
        });
    }
}
