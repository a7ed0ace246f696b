//! Texts of requests: formulas, names, and pairs of names, with errors that show the client's own text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use engine::{Call, Table};
use formula::{Checked, Expr, Formula, FormulaError, Function, Names, Purpose};
use tonic::Status;

/// A refusal that names the operation.
pub(crate) fn refused(operation: &str, why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{operation}: {why}"))
}

/// What the server has not.
pub(crate) fn unknown(operation: &str, what: impl std::fmt::Display) -> Status {
    Status::unimplemented(format!("{operation}: {what}"))
}

/// Formulas over a table, as they are added to a call.
pub(crate) struct Formulas<'a> {
    operation: &'a str,
    over: &'a Table,
    /// The columns that the next formula sees.
    schema: Schema,
    checked: Vec<Checked>,
}

impl<'a> Formulas<'a> {
    pub(crate) fn new(operation: &'a str, over: &'a Table) -> Formulas<'a> {
        Formulas { operation, over, schema: over.canonical().as_ref().clone(), checked: Vec::new() }
    }

    fn check(&self, text: &str, purpose: Purpose) -> Result<(Formula, Checked), Status> {
        let wrong = |wrong: &FormulaError| refused(self.operation, wrong);
        let formula = Formula::parse(text, purpose).map_err(|error| wrong(&error))?;
        let (values, functions, sets) = (HashMap::new(), HashMap::new(), HashMap::new());
        let names = Names { columns: Some(&self.schema), values: &values, functions: &functions, sets: &sets };
        let checked = formula.check(&names, &self.schema).map_err(|error| wrong(&error))?;
        engine::refresh_safe(&checked.bound().reach(), self.over, self.over.is_live())
            .map_err(|error| wrong(&formula.wrong(error)))?;
        Ok((formula, checked))
    }

    /// The type of a column of the table.
    pub(crate) fn type_of(&self, name: &str) -> Option<&DataType> {
        self.schema.field_with_name(name).ok().map(Field::data_type)
    }

    /// The expression of a new column, which the formulas behind it see.
    pub(crate) fn column(&mut self, text: &str) -> Result<Expr, Status> {
        let (formula, checked) = self.check(text, Purpose::Column)?;
        let Some(name) = formula.output_name().map(str::to_owned) else {
            return Err(refused(self.operation, format!("a new column needs a name: New = {text}")));
        };
        let made = Field::new(&name, checked.bound().data_type().clone(), true);
        let mut fields: Vec<Arc<Field>> = self.schema.fields().iter().cloned().collect();
        match fields.iter_mut().find(|field| *field.name() == name) {
            Some(field) => *field = Arc::new(made),
            None => fields.push(Arc::new(made)),
        }
        self.schema = Schema::new(fields);
        let expr = checked.expr().clone();
        self.checked.push(checked);
        Ok(expr)
    }

    /// A Boolean expression, told of as its client wrote it.
    pub(crate) fn filter(&mut self, text: &str) -> Result<Expr, Status> {
        let checked = self.truth(text)?;
        let expr = checked.expr().clone();
        self.checked.push(checked);
        Ok(expr)
    }

    /// Several of them in one.
    pub(crate) fn all_of(&self, texts: &[String]) -> Result<Expr, Status> {
        let each: Result<Vec<Expr>, Status> = texts.iter().map(|text| Ok(self.truth(text)?.expr().clone())).collect();
        let mut each = each?;
        match each.len() {
            0 => Err(refused(self.operation, "a condition is missing")),
            1 => Ok(each.remove(0)),
            _ => Expr::call(Function::And, each).map_err(|error| refused(self.operation, error)),
        }
    }

    fn truth(&self, text: &str) -> Result<Checked, Status> {
        let (formula, checked) = self.check(text, Purpose::Filter)?;
        if !matches!(checked.bound().data_type(), DataType::Boolean | DataType::Null) {
            let wrong = formula.wrong(formula::Error::Type {
                function: "a filter".to_owned(),
                types: vec![formula::type_name(checked.bound().data_type())],
                advice: "it must be Boolean: compare the value with something".to_owned(),
            });
            return Err(refused(self.operation, wrong));
        }
        Ok(checked)
    }

    /// An expression whose columns are whole groups; with the name that it gives itself.
    pub(crate) fn over_groups(&self, text: &str) -> Result<Expr, Status> {
        let expr = lowered(text).map_err(|error| refused(self.operation, error))?;
        Ok(expr.over_groups())
    }

    /// The call that tells of these formulas.
    pub(crate) fn call(self) -> Call {
        Call { method: self.operation.into(), location: None, formulas: self.checked }
    }
}

/// What a formula means where the columns are not known.
pub(crate) fn lowered(text: &str) -> Result<Expr, FormulaError> {
    let (values, functions, sets) = (HashMap::new(), HashMap::new(), HashMap::new());
    let names = Names { columns: None, values: &values, functions: &functions, sets: &sets };
    Formula::parse(text, Purpose::Column)?.lower(&names)
}

/// `"New = Old"` or `"Name"`, as the new name and the old one.
pub(crate) fn pair(operation: &str, text: &str) -> Result<(String, String), Status> {
    let (new, old) = text.split_once('=').map_or((text, text), |(new, old)| (new, old.trim_start_matches('=')));
    let (new, old) = (new.trim(), old.trim());
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '<', '>', ' ']);
    if !is_name(new) || !is_name(old) {
        return Err(refused(operation, format!("a column is named \"Name\" or \"New = Old\", not {text:?}")));
    }
    Ok((new.to_owned(), old.to_owned()))
}

pub(crate) fn pairs(operation: &str, texts: &[String]) -> Result<Vec<(String, String)>, Status> {
    texts.iter().map(|text| pair(operation, text)).collect()
}

/// A number of rows.
pub(crate) fn rows(operation: &str, rows: i64) -> Result<u64, Status> {
    u64::try_from(rows).map_err(|_| refused(operation, format!("a number of rows cannot be negative: {rows}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_pairs_are_read_and_anything_else_is_told() {
        let both = |new: &str, old: &str| Some((new.to_owned(), old.to_owned()));
        assert_eq!(pair("t", "a").ok(), both("a", "a"));
        assert_eq!(pair("t", " a = b ").ok(), both("a", "b"));
        assert_eq!(pair("t", "a==b").ok(), both("a", "b"));
        for wrong in ["", "=", "a=", "=b", "a=b=c", "a b", "a >= b", "a = b + 1"] {
            let told = pair("t", wrong).expect_err("it is no pair");
            assert!(told.message().contains(&format!("{wrong:?}")), "{}", told.message());
        }
    }
}
