//! What a filter need not look at: rows of which the statistics of their file say that no predicate can hold.
//!
//!   zones of V   0..99 is 1 to 7    100..199 is 5 to 20          V > 9 looks at 100..199
//!
//! Statistics are compared by the same kernels as cells, so that a zone is left out only where every one of its cells fails.

use std::mem::discriminant;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use column::{Nulls, Zones};
use formula::{Expr, Function, Literal};
use rowset::RowSet;

use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::evaluator::Evaluator;
use crate::sources::from_chunks;
use crate::table::handle::Table;
use crate::table::view::View;

/// Tests of a column's cell, all of which hold for every row that passes.
pub(crate) struct Bounds(Vec<Bound>);

struct Bound {
    column: usize,
    test: Test,
}

enum Test {
    /// The cell is none of nulls, and compares so with any of these.
    Compare(Function, Vec<Expr>),
    Null,
    NotNull,
}

/// A set of more values is not compared with the bounds of zones one by one.
const MOST_CONSTANTS: usize = 64;

impl Bounds {
    /// Of the predicates of a filter, in order. One that may fail ends them: the rows that it would fail for are seen.
    pub(crate) fn of(table: &Table, predicates: &[Expr]) -> Bounds {
        let terms = predicates.iter().flat_map(formula::split_conjunction);
        let sure = terms.take_while(|term| term.is_total(table.canonical()));
        Bounds(sure.flat_map(|term| Bound::of(table, term)).collect())
    }

    /// Those of the rows for which a predicate may hold.
    pub(crate) fn within(&self, call: &Call, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        let mut left = rows.clone();
        for bound in &self.0 {
            if let Some(zones) = view.column(bound.column)?.zones() {
                left = &left & &bound.zones(call, &zones)?;
            }
        }
        Ok(left)
    }
}

impl Bound {
    fn of(table: &Table, term: &Expr) -> Vec<Bound> {
        let Expr::Call { function, args } = term else { return Vec::new() };
        let compared = |function: &Function, column: &Expr, constant: &Expr| {
            let (Expr::Column(name), Expr::Literal(value)) = (column, constant) else { return None };
            let column = table.canonical().index_of(name.as_str()).ok()?;
            // NaN is greater than all numbers, and statistics do not tell of it.
            let floats = table.canonical().field(column).data_type().is_floating();
            let is_nan = matches!(value, Literal::Float(value) if value.is_nan());
            let above = matches!(function, Function::Greater | Function::GreaterEqual);
            let is_null = matches!(value, Literal::Null | Literal::TypedNull(_));
            let known = !is_null && !(floats && (above || is_nan));
            known.then(|| (column, *function, constant.clone()))
        };
        let bound = |(column, function, constant)| Bound { column, test: Test::Compare(function, vec![constant]) };
        let tested = |of: &Expr, test: Test| {
            let Expr::Column(name) = of else { return Vec::new() };
            let column = table.canonical().index_of(name.as_str()).ok();
            column.map(|column| Bound { column, test }).into_iter().collect()
        };
        match (function, &args[..]) {
            (Function::IsNull, [of]) => tested(of, Test::Null),
            (Function::IsNotNull, [of]) => tested(of, Test::NotNull),
            (Function::Not, [Expr::Call { function: Function::IsNull, args }]) => match &args[..] {
                [of] => tested(of, Test::NotNull),
                _ => Vec::new(),
            },
            (Function::Not, [Expr::Call { function: Function::IsNotNull, args }]) => match &args[..] {
                [of] => tested(of, Test::Null),
                _ => Vec::new(),
            },
            (
                Function::Less | Function::LessEqual | Function::Greater | Function::GreaterEqual | Function::Equal,
                [left, right],
            ) => {
                let turned = turned(function);
                compared(function, left, right)
                    .or_else(|| compared(&turned, right, left))
                    .map(bound)
                    .into_iter()
                    .collect()
            }
            (Function::IsBetween { .. }, [of, least, most]) => {
                let least = compared(&Function::GreaterEqual, of, least);
                least.into_iter().chain(compared(&Function::LessEqual, of, most)).map(bound).collect()
            }
            // In a set is equal to one of its values; null is in none, or is as good as unknown.
            (Function::IsIn { .. }, [of, Expr::Literal(Literal::List(values))]) if values.len() <= MOST_CONSTANTS => {
                // Values of several kinds are brought to one before they are compared.
                if !values.windows(2).all(|two| discriminant(&two[0]) == discriminant(&two[1])) {
                    return Vec::new();
                }
                let equal = |value: &Literal| compared(&Function::Equal, of, &Expr::Literal(value.clone()));
                let Some(equal) = values.iter().map(equal).collect::<Option<Vec<_>>>() else { return Vec::new() };
                let Some((column, ..)) = equal.first() else { return Vec::new() };
                let constants = equal.iter().map(|(.., constant)| constant.clone()).collect();
                vec![Bound { column: *column, test: Test::Compare(Function::Equal, constants) }]
            }
            _ => Vec::new(),
        }
    }

    /// The rows of zones in which a cell may pass.
    fn zones(&self, call: &Call, zones: &Zones) -> Result<RowSet, Error> {
        let but = |nulls: Nulls| -> RowSet {
            let kept = zones.nulls.iter().enumerate().filter(|(_, of)| **of != nulls).map(|(at, _)| at as u64);
            RowSet::from_sorted_keys(&kept.collect::<Vec<_>>())
        };
        let may = match &self.test {
            Test::Null => but(Nulls::None),
            Test::NotNull => but(Nulls::All),
            Test::Compare(function, constants) => {
                let within = &compared(call, zones, *function, constants)? & &but(Nulls::All);
                match (&zones.members, function) {
                    (Some(members), Function::Equal) => match cells(constants, zones.least.data_type()) {
                        Some(values) => members.may_hold(&within, &values),
                        None => within,
                    },
                    _ => within,
                }
            }
        };
        let mut rows = RowSet::new();
        for span in may.spans() {
            let end = zones.starts.get(span.last as usize + 1).copied().unwrap_or(zones.end);
            let start = zones.starts[span.first as usize];
            if end > start {
                rows = &rows | &RowSet::range(start, end - 1);
            }
        }
        Ok(rows)
    }
}

/// The numbers of the zones in which a cell may compare so with any of the constants.
fn compared(call: &Call, zones: &Zones, function: Function, constants: &[Expr]) -> Result<RowSet, Error> {
    let many = zones.starts.len();
    if many == 0 {
        return Ok(RowSet::new());
    }
    let field = |name: &str, of: &DataType| Field::new(name, of.clone(), true);
    let schema = Schema::new(vec![field("least", zones.least.data_type()), field("most", zones.most.data_type())]);
    let columns = vec![vec![zones.least.clone()], vec![zones.most.clone()]];
    let table = from_chunks(schema.into(), columns, many as u64)?;
    let view = table.view()?;
    let may = |name: &str, comparison: Function, constant: &Expr| -> Result<RowSet, Error> {
        let told = Expr::call(comparison, vec![Expr::column(name), constant.clone()]);
        let told = told.map_err(|error| Error::Formula { operation: call.method.to_string(), error })?;
        Evaluator::predicate(call, &told, &table)?.matching(&view, view.rows())
    };
    let unknown = |array: &dyn Array| {
        RowSet::from_sorted_keys(&(0..many as u64).filter(|at| array.is_null(*at as usize)).collect::<Vec<_>>())
    };
    let no_least = unknown(&zones.least);
    let no_most = unknown(&zones.most);
    let least = |comparison, constant| Ok::<_, Error>(&may("least", comparison, constant)? | &no_least);
    let most = |comparison, constant| Ok::<_, Error>(&may("most", comparison, constant)? | &no_most);
    let mut may = RowSet::new();
    for constant in constants {
        let own = match function {
            Function::Less | Function::LessEqual => least(function, constant)?,
            Function::Greater | Function::GreaterEqual => most(function, constant)?,
            _ => &least(Function::LessEqual, constant)? & &most(Function::GreaterEqual, constant)?,
        };
        may = &may | &own;
    }
    Ok(may)
}

/// Constants as cells of a column, if its type can hold all of them.
fn cells(constants: &[Expr], canonical: &DataType) -> Option<ArrayRef> {
    let cell = |constant: &Expr| match constant {
        Expr::Literal(literal) => literal.cell(canonical),
        _ => None,
    };
    let cells: Vec<ArrayRef> = constants.iter().map(cell).collect::<Option<_>>()?;
    concat(&cells.iter().map(|cell| cell.as_ref()).collect::<Vec<_>>()).ok()
}

fn turned(function: &Function) -> Function {
    match function {
        Function::Less => Function::Greater,
        Function::LessEqual => Function::GreaterEqual,
        Function::Greater => Function::Less,
        Function::GreaterEqual => Function::LessEqual,
        other => *other,
    }
}
