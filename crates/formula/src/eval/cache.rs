//! The cache of bound formulas, and counters of parsing and planning: a formula is bound when it is checked, and the
//! operation then takes over the bound form.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{Fields, Schema};

use crate::eval::bound::Bound;
use crate::tree::expr::Expr;

/// How often formulas were read, and expressions planned, since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Texts that were parsed; one that is known is not.
    pub read: u64,
    /// Expressions bound to columns and laid out as programs. Nothing is compiled: a program is a list of instructions.
    pub planned: u64,
}

static READ: AtomicU64 = AtomicU64::new(0);
static PLANNED: AtomicU64 = AtomicU64::new(0);

/// What was counted so far.
pub fn counted() -> Counted {
    Counted { read: READ.load(Ordering::Relaxed), planned: PLANNED.load(Ordering::Relaxed) }
}

pub(crate) fn count_read() {
    READ.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_planned() {
    PLANNED.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    /// The last formulas that were judged on this thread, until somebody binds them.
    static JUDGED: RefCell<Vec<Judged>> = const { RefCell::new(Vec::new()) };
}

/// A formula over the columns for which it was judged.
struct Judged {
    fields: Fields,
    expr: Expr,
    /// None where a function of the host stands in it: those are not held on to.
    bound: Option<Bound>,
    /// As its user wrote it.
    text: Arc<str>,
}

impl Judged {
    fn is(&self, schema: &Schema, expr: &Expr) -> bool {
        self.fields == *schema.fields() && self.expr == *expr
    }
}

/// So many formulas of one call wait to be bound.
const MOST_JUDGED: usize = 16;

/// Leaves what was bound, and the text it was bound from, for the operation that comes next.
pub(crate) fn leave(schema: &Schema, expr: &Expr, bound: &Bound, text: &Arc<str>) {
    let bound = Some(bound).filter(|bound| !bound.calls_host()).cloned();
    let expr = if bound.is_some() { expr.clone() } else { expr.without_hosts() };
    let judged = Judged { fields: schema.fields().clone(), expr, bound, text: Arc::clone(text) };
    JUDGED.with_borrow_mut(|all| {
        if all.len() == MOST_JUDGED {
            all.remove(0);
        }
        all.push(judged);
    });
}

/// What was left for this expression over the very same columns.
pub(crate) fn take(schema: &Schema, expr: &Expr) -> Option<Bound> {
    JUDGED.with_borrow_mut(|all| {
        let at = all.iter().position(|judged| judged.bound.is_some() && judged.is(schema, expr))?;
        all.remove(at).bound
    })
}

/// The formula that an expression was just made of for these columns, on one line, else the expression as Python.
pub fn told(schema: &Schema, expr: &Expr) -> String {
    let blank = |character: char| if character.is_control() { ' ' } else { character };
    JUDGED.with_borrow(|all| {
        let judged = all.iter().rev().find(|judged| judged.is(schema, expr));
        judged.map_or_else(|| expr.to_python(), |judged| judged.text.chars().map(blank).collect())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::language::formula::Formula;
    use crate::language::names::Names;
    use crate::language::parse::Purpose;

    #[test]
    fn a_judged_formula_is_taken_over_once_by_its_own_columns() {
        let schema = |kind| Schema::new(vec![Field::new("x", kind, true)]);
        let (floats, ints) = (schema(DataType::Float64), schema(DataType::Int64));
        let (values, functions) = (HashMap::new(), HashMap::new());
        let names = Names { columns: Some(&floats), values: &values, functions: &functions, sets: &HashMap::new() };
        let judged = |text| Formula::parse(text, Purpose::Column).and_then(|formula| formula.check(&names, &floats));
        let (expr, bound) = judged("y = x * 2").expect("a formula");
        assert_eq!(told(&floats, &expr), "y = x * 2");
        assert_eq!(told(&ints, &expr), "(col(\"x\") * 2).alias(\"y\")");
        assert!(take(&ints, &expr).is_none() && take(&floats, &Expr::column("x")).is_none());
        assert_eq!(take(&floats, &expr).map(|taken| taken.data_type().clone()), Some(bound.data_type().clone()));
        assert!(take(&floats, &expr).is_none());
    }
}
