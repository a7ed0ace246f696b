//! Formula strings: parsed once, lowered for a table or for none, with the caller's variables.

use std::collections::HashMap;

use arrow_schema::DataType;
use formula::functions::{FormulaFunction, FunctionSpec, declared, of_formulas};
use formula::values::NamedSet;
use formula::{Error, Formula, Literal, Names, Purpose};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::expr::PyExpr;
use crate::literal::literal;
use crate::table::PyTable;
use crate::udf::PyUdf;

/// A parsed formula.
#[pyclass(frozen, name = "Formula", module = "tickframe._native")]
pub struct PyFormula {
    formula: Formula,
    filter: bool,
}

#[pymethods]
impl PyFormula {
    /// `operation` is the method the user called.
    #[new]
    fn new(text: &str, filter: bool, operation: &str) -> PyResult<PyFormula> {
        let purpose = if filter { Purpose::Filter } else { Purpose::Column };
        let formula = Formula::parse(text, purpose).map_err(|wrong| error::formula_text(operation, &wrong))?;
        Ok(PyFormula { formula, filter })
    }

    /// The names that may be variables.
    fn names(&self) -> Vec<&str> {
        self.formula.names()
    }

    /// The name of the column it makes, if it says so.
    fn output_name(&self) -> Option<&str> {
        self.formula.output_name()
    }

    /// The expression it means, over a table's columns or with every name open. Variables that are no
    /// values (modules, tables) are left out. `live`: the table is of one that changes, if it does not itself.
    #[pyo3(signature = (operation, values, functions, table, live))]
    fn lower(
        &self,
        operation: &str,
        values: &Bound<'_, PyDict>,
        functions: HashMap<String, Bound<'_, PyUdf>>,
        table: Option<&Bound<'_, PyTable>>,
        live: bool,
    ) -> PyResult<PyExpr> {
        let schema = table.map(|table| table.get().checked().map(|table| table.canonical().clone())).transpose()?;
        let mut known: HashMap<String, Literal> = HashMap::new();
        let mut sets: HashMap<String, NamedSet> = HashMap::new();
        for (name, value) in values.iter() {
            let name: String = name.extract()?;
            let is_column = schema.as_ref().is_some_and(|schema| schema.field_with_name(&name).is_ok());
            if is_column {
                continue;
            }
            if let Ok(table) = value.getattr("_native").and_then(|native| Ok(native.cast_into::<PyTable>()?)) {
                let set = engine::plan::live_set(operation, table.get().checked()?).map_err(|wrong| match wrong {
                    engine::Error::InvalidOperation { message, .. } => message,
                    other => other.to_string(),
                });
                sets.insert(name, set);
            } else {
                match literal(&name, &value) {
                    Ok(value) => drop(known.insert(name, value)),
                    Err(why) => drop(sets.insert(name, Err(why.value(values.py()).to_string()))),
                }
            }
        }
        let functions =
            functions.into_iter().map(|(name, function)| Ok((name, function.get().id()?))).collect::<PyResult<_>>()?;
        let names = Names { columns: schema.as_deref(), values: &known, functions: &functions, sets: &sets };
        let Some(schema) = &schema else {
            return self.formula.lower(&names).map(PyExpr::new).map_err(|wrong| error::formula_text(operation, &wrong));
        };
        let checked = self.formula.check(&names, schema).map_err(|wrong| error::formula_text(operation, &wrong))?;
        let bound = checked.bound();
        let safe = match table {
            Some(table) => {
                let table = table.get().checked()?;
                engine::refresh_safe(&bound.reach(), table, live || table.is_live())
            }
            None => Ok(()),
        };
        safe.map_err(|wrong| error::formula_text(operation, &self.formula.wrong(wrong)))?;
        if self.filter && !matches!(bound.data_type(), DataType::Boolean | DataType::Null) {
            let wrong = self.formula.wrong(Error::Type {
                function: "a filter".to_owned(),
                types: vec![formula::type_name(bound.data_type())],
                advice: "it must be Boolean: compare the value with something".to_owned(),
            });
            return Err(error::formula_text(operation, &wrong));
        }
        Ok(PyExpr::of_formula(checked))
    }
}

/// A function that formulas know by name: subject, name, example, and what it gives.
type FormulaRow = (&'static str, &'static str, &'static str, &'static str);

/// The nanoseconds that a text says; None if it is no length of time.
#[pyfunction]
pub fn span_of_time(text: &str) -> Option<i128> {
    ::formula::types::span_of_time(text)
}

/// All functions that formulas know by name.
#[pyfunction]
pub fn formula_functions() -> Vec<FormulaRow> {
    let row = |of: FormulaFunction| (of.subject.name(), of.name, of.example, of.gives);
    of_formulas().map(row).collect()
}

/// All functions of rows as they are declared.
#[pyfunction]
pub fn functions(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |spec: &FunctionSpec| {
        let made = PyDict::new(py);
        made.set_item("name", spec.name())?;
        made.set_item("kind", spec.kind())?;
        made.set_item("arguments", spec.takes())?;
        made.set_item("least", spec.least())?;
        made.set_item("most", spec.most())?;
        let mut function = spec.function();
        let options = function.options().into_iter().map(|(name, value)| (name, value.to_python()));
        made.set_item("options", options.collect::<Vec<_>>())?;
        made.set_item("formulas", spec.formulas().iter().map(|name| name.name).collect::<Vec<_>>())?;
        made.set_item("example", spec.example())?;
        Ok(made)
    };
    declared().map(row).collect()
}
