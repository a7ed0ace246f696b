//! What a filter need not look at: rows of which the statistics of their file say that no predicate can hold.
//!
//!   zones of V   0..99 is 1 to 7    100..199 is 5 to 20          V > 9 looks at 100..199
//!
//! Statistics are compared by the same kernels as cells, so that a zone is left out only where every one of its cells fails.

use arrow_array::{Array, BooleanArray};
use arrow_schema::{DataType, Field, Schema};
use column::Zones;
use formula::{Expr, Function, Literal};
use rowset::RowSet;

use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::evaluator::Evaluator;
use crate::sources::from_chunks;
use crate::table::handle::Table;
use crate::table::view::View;

/// Comparisons of a column with a constant, all of which hold for every row that passes.
pub(crate) struct Bounds(Vec<Bound>);

struct Bound {
    column: usize,
    comparison: Function,
    constant: Expr,
}

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
            known.then(|| Bound { column, comparison: *function, constant: constant.clone() })
        };
        match (function, &args[..]) {
            (
                Function::Less | Function::LessEqual | Function::Greater | Function::GreaterEqual | Function::Equal,
                [left, right],
            ) => {
                let turned = turned(function);
                compared(function, left, right).or_else(|| compared(&turned, right, left)).into_iter().collect()
            }
            (Function::IsBetween { .. }, [of, least, most]) => {
                let least = compared(&Function::GreaterEqual, of, least);
                least.into_iter().chain(compared(&Function::LessEqual, of, most)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The rows of zones in which a cell may compare so.
    fn zones(&self, call: &Call, zones: &Zones) -> Result<RowSet, Error> {
        let many = zones.starts.len();
        if many == 0 {
            return Ok(RowSet::new());
        }
        let field = |name: &str, of: &DataType| Field::new(name, of.clone(), true);
        let schema = Schema::new(vec![field("least", zones.least.data_type()), field("most", zones.most.data_type())]);
        let columns = vec![vec![zones.least.clone()], vec![zones.most.clone()]];
        let table = from_chunks(schema.into(), columns, many as u64)?;
        let view = table.view()?;
        let may = |name: &str, comparison: Function| -> Result<RowSet, Error> {
            let told = Expr::call(comparison, vec![Expr::column(name), self.constant.clone()]);
            let told = told.map_err(|error| Error::Formula { operation: call.method.to_string(), error })?;
            Evaluator::predicate(call, &told, &table)?.matching(&view, view.rows())
        };
        let unknown = |array: &dyn Array| {
            let nulls: BooleanArray = (0..array.len()).map(|at| Some(array.is_null(at))).collect();
            RowSet::from_sorted_keys(&(0..many as u64).filter(|at| nulls.value(*at as usize)).collect::<Vec<_>>())
        };
        let least = |comparison| Ok::<_, Error>(&may("least", comparison)? | &unknown(&zones.least));
        let most = |comparison| Ok::<_, Error>(&may("most", comparison)? | &unknown(&zones.most));
        let may = match self.comparison {
            Function::Less | Function::LessEqual => least(self.comparison)?,
            Function::Greater | Function::GreaterEqual => most(self.comparison)?,
            _ => &least(Function::LessEqual)? & &most(Function::GreaterEqual)?,
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

fn turned(function: &Function) -> Function {
    match function {
        Function::Less => Function::Greater,
        Function::LessEqual => Function::GreaterEqual,
        Function::Greater => Function::Less,
        Function::GreaterEqual => Function::LessEqual,
        other => *other,
    }
}
