//! A formula that was checked against the columns of a table: what it means, how it is computed, and the user's own text.

use std::sync::Arc;

use arrow_schema::{Fields, Schema};

use crate::eval::bound::Bound;
use crate::tree::expr::Expr;

/// A formula over some columns. Whoever computes the expression over these very columns takes over what is here, and tells
/// of it as its user wrote it.
#[derive(Clone, Debug)]
pub struct Checked {
    expr: Expr,
    /// The expression that was bound: without sets that live elsewhere.
    own: Expr,
    fields: Fields,
    bound: Bound,
    text: Arc<str>,
}

impl Checked {
    pub(crate) fn new(expr: Expr, own: Expr, schema: &Schema, bound: Bound, text: &Arc<str>) -> Checked {
        Checked { expr, own, fields: schema.fields().clone(), bound, text: Arc::clone(text) }
    }

    /// The expression that it means.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// The expression bound to the columns.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Whether it is this expression over these columns.
    pub fn is(&self, expr: &Expr, schema: &Schema) -> bool {
        let named = match (expr, &self.own) {
            (Expr::Alias(_, one), Expr::Alias(_, other)) => one == other,
            _ => true,
        };
        named && self.own == *expr && self.fields == *schema.fields()
    }

    /// As its user wrote it, on one line.
    pub fn text(&self) -> String {
        self.text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
    }
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
    fn a_checked_formula_is_known_over_its_own_columns_alone() {
        let schema = |kind| Schema::new(vec![Field::new("x", kind, true)]);
        let (floats, ints) = (schema(DataType::Float64), schema(DataType::Int64));
        let (values, functions) = (HashMap::new(), HashMap::new());
        let names = Names { columns: Some(&floats), values: &values, functions: &functions, sets: &HashMap::new() };
        let formula = Formula::parse("y =\tx * 2", Purpose::Column).expect("a formula");
        let checked = formula.check(&names, &floats).expect("of numbers");
        assert_eq!(checked.text(), "y = x * 2");
        assert_eq!(*checked.bound().data_type(), DataType::Float64);
        let expr = checked.expr().clone();
        assert!(checked.is(&expr, &floats) && checked.is(&expr, &schema(DataType::Float64)));
        assert!(!checked.is(&expr, &ints) && !checked.is(&Expr::column("x"), &floats));
    }
}
