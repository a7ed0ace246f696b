//! Expression objects: a thin handle on the tree that formula strings build too.

use std::sync::OnceLock;

use arrow_schema::{DataType, TimeUnit};
use formula::aggregates::{Declaration, Given, Setting, SettingKind};
use formula::functions::{Closed, OptionValue};
use formula::{Aggregate, Checked, Expr, Function, Literal, Window};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use crate::cells;
use crate::chain::{Chain, Link};
use crate::dtype::from_spec;
use crate::error;
use crate::literal;
use crate::table::PyTable;

/// A tree of columns, values and functions.
#[pyclass(frozen, name = "Expr", module = "tickframe._native")]
pub struct PyExpr {
    tree: OnceLock<Expr>,
    /// The chain that it is, from which the tree is made when it is asked for.
    chain: Option<Chain>,
    /// The formula that it is, as it was checked for the columns of a table.
    formula: Option<Box<Checked>>,
}

impl PyExpr {
    pub fn new(tree: Expr) -> PyExpr {
        PyExpr { tree: OnceLock::from(tree), chain: None, formula: None }
    }

    fn of_chain(chain: Chain) -> PyExpr {
        PyExpr { tree: OnceLock::new(), chain: Some(chain), formula: None }
    }

    /// The expression that a formula means.
    pub fn of_formula(formula: Checked) -> PyExpr {
        let tree = OnceLock::from(formula.expr().clone());
        PyExpr { tree, chain: None, formula: Some(Box::new(formula)) }
    }

    /// The formula that it is, if it was made of one for the columns of a table.
    pub fn formula(&self) -> Option<&Checked> {
        self.formula.as_deref()
    }

    /// The tree.
    pub fn expr(&self) -> &Expr {
        self.tree.get_or_init(|| self.chain.as_ref().expect("one of both is there").expr())
    }
}

/// A whole number that an argument takes, told in words if it is none or too far.
struct Counted<T>(T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Counted<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Counted<T>> {
        value.extract::<T>().map(Counted).map_err(|_| {
            let shown = cells::shown(&value);
            if value.is_instance_of::<PyInt>() {
                return PyValueError::new_err(format!("{shown} is out of the range of this argument"));
            }
            PyTypeError::new_err(format!("a whole number is taken here, not {shown}"))
        })
    }
}

/// An aggregate as Python reads it.
type Declared = (&'static str, usize, Vec<(&'static str, bool, Py<PyAny>)>, &'static str, Option<&'static str>);

fn raised(failure: formula::Error) -> PyErr {
    error::formula("expression", &failure, None)
}

#[pymethods]
impl PyExpr {
    #[staticmethod]
    fn column(name: &str) -> PyExpr {
        PyExpr::new(Expr::column(name))
    }

    /// The start of the step.
    #[staticmethod]
    fn now() -> PyResult<PyExpr> {
        Expr::call(Function::Now, Vec::new()).map(PyExpr::new).map_err(raised)
    }

    /// `operation` is what the user called.
    #[staticmethod]
    #[pyo3(signature = (value, operation = "lit"))]
    fn literal(value: &Bound<'_, PyAny>, operation: &str) -> PyResult<PyExpr> {
        Ok(PyExpr::new(Expr::Literal(literal::literal(operation, value)?)))
    }

    /// The values of anything that can be gone through, as a list.
    #[staticmethod]
    fn values(values: &Bound<'_, PyAny>, operation: &str) -> PyResult<PyExpr> {
        Ok(PyExpr::new(Expr::Literal(literal::list(operation, values)?)))
    }

    /// A value of a stated type; whole numbers are counts of what the type counts.
    #[staticmethod]
    fn typed_literal(value: &Bound<'_, PyAny>, spec: &Bound<'_, PyTuple>) -> PyResult<PyExpr> {
        let kind = from_spec(spec)?;
        let whole = if value.is_instance_of::<PyInt>() { value.extract::<i64>().ok() } else { None };
        let made = match (&kind, whole) {
            _ if value.is_none() => Some(Literal::TypedNull(kind.clone())),
            (DataType::Timestamp(TimeUnit::Nanosecond, zone), Some(ns)) => {
                Some(Literal::Timestamp { ns, zone: zone.clone() })
            }
            (DataType::Date32, Some(days)) => i32::try_from(days).ok().map(Literal::Date),
            (DataType::Time64(TimeUnit::Nanosecond), Some(ns)) => Some(Literal::Time(ns)),
            (DataType::Duration(TimeUnit::Nanosecond), Some(ns)) => Some(Literal::Duration(ns)),
            (DataType::Decimal128(precision, scale), _) if value.is_instance_of::<PyString>() => {
                let number = value.py().import("decimal")?.getattr("Decimal")?.call1((value,))?;
                let text: String = number.call_method1("__format__", ("f",))?.extract()?;
                crate::cells::unscaled(&text, *scale).map(|value| Literal::Decimal {
                    value,
                    precision: *precision,
                    scale: *scale,
                })
            }
            _ => None,
        };
        match made {
            Some(made) => Ok(PyExpr::new(Expr::Literal(made))),
            None => Expr::Literal(literal::literal("lit", value)?).cast(kind, true).map(PyExpr::new).map_err(raised),
        }
    }

    /// A function by its Python name, with the options that its name takes.
    #[staticmethod]
    #[pyo3(signature = (name, args, **options))]
    fn call(name: &str, args: Vec<Bound<'_, PyExpr>>, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyExpr> {
        let function = Function::named(name)
            .ok_or_else(|| PyValueError::new_err(format!("there is no function {name:?} in expressions")))?;
        let function = match options {
            Some(options) => with_options(function, options)?,
            None => function,
        };
        if let Some((chain, more)) =
            args.split_first().and_then(|(first, more)| Some((first.get().chain.as_ref()?, more)))
            && chain.is_of(Link::Operator(function))
        {
            let more = more.iter().map(|arg| arg.get().expr().clone()).collect();
            return chain.and(more).map(PyExpr::of_chain).map_err(raised);
        }
        let args = args.iter().map(|arg| arg.get().expr().clone()).collect();
        let made = Expr::call(function, args).map_err(raised)?;
        Ok(Chain::of(made).map_or_else(PyExpr::new, PyExpr::of_chain))
    }

    /// One choice more than those before it.
    #[staticmethod]
    #[pyo3(signature = (before, condition, value))]
    fn when(
        before: Option<&Bound<'_, PyExpr>>,
        condition: &Bound<'_, PyExpr>,
        value: &Bound<'_, PyExpr>,
    ) -> PyResult<PyExpr> {
        let more = vec![condition.get().expr().clone(), value.get().expr().clone()];
        let chain = match before.and_then(|before| before.get().chain.as_ref()).filter(|chain| chain.is_of(Link::When))
        {
            Some(chain) => chain.and(more),
            None => Chain::of_choices().and(more),
        };
        chain.map(PyExpr::of_chain).map_err(raised)
    }

    /// Choices with a value where none of them holds.
    fn otherwise(&self, value: &Bound<'_, PyExpr>) -> PyResult<PyExpr> {
        let chain = self.chain.as_ref().filter(|chain| chain.is_of(Link::When));
        let chain = chain.ok_or_else(|| PyTypeError::new_err("otherwise: only when(...).then(...) takes it"))?;
        chain.otherwise(value.get().expr().clone()).map(PyExpr::new).map_err(raised)
    }

    /// An aggregate by its Python name, with the options that it declares.
    #[staticmethod]
    #[pyo3(signature = (name, inputs, **options))]
    fn aggregate(name: &str, inputs: Vec<Bound<'_, PyExpr>>, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyExpr> {
        let mut kind =
            Aggregate::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no aggregate {name:?}")))?;
        for (option, value) in options.into_iter().flat_map(|options| options.iter()) {
            let option: String = option.extract()?;
            let setting = kind.declaration().settings.iter().find(|setting| setting.name == option);
            let setting = setting.ok_or_else(|| PyTypeError::new_err(format!("{name} has no option {option:?}")))?;
            kind.set(setting, given(name, setting, &value)?).map_err(PyValueError::new_err)?;
        }
        let inputs = inputs.iter().map(|input| input.get().expr().clone());
        Expr::aggregate(kind, inputs).map(PyExpr::new).map_err(raised)
    }

    /// Every aggregate as it is declared: its name, of how many columns it is, its options (name, whether it must be
    /// given, its value where it is not), an example, its name in `tf.agg`.
    #[staticmethod]
    fn aggregates(py: Python<'_>) -> PyResult<Vec<Declared>> {
        let option = |kind: &Aggregate, setting: &Setting| {
            let value = match kind.setting(setting) {
                Given::Whole(number) => number.into_py_any(py)?,
                Given::Number(number) => number.into_py_any(py)?,
                Given::Flag(flag) => flag.into_py_any(py)?,
                Given::Word(word) => word.into_py_any(py)?,
            };
            Ok((setting.name, setting.required, value))
        };
        let told = |declared: &'static Declaration| {
            let Declaration { kind, name, arity, example, formula, .. } = declared;
            let options =
                declared.settings.iter().map(|setting| option(kind, setting)).collect::<PyResult<Vec<_>>>()?;
            Ok((*name, *arity, options, *example, *formula))
        };
        Aggregate::declared().iter().map(told).collect()
    }

    /// Every aggregate over the groups of these expressions, its rows in this order.
    fn over(
        &self,
        by: Vec<Bound<'_, PyExpr>>,
        order: Vec<Bound<'_, PyExpr>>,
        descending: bool,
        nulls_last: bool,
    ) -> PyResult<PyExpr> {
        let trees = |given: Vec<Bound<'_, PyExpr>>| given.iter().map(|each| each.get().expr().clone()).collect();
        let window = Window { by: trees(by), order: trees(order), descending, nulls_last, ..Window::default() };
        self.expr().clone().over(window).map(PyExpr::new).map_err(raised)
    }

    /// Every aggregate over a window that moves along with each row, between stamps if they are given. `window`: as plans
    /// write it.
    fn rolling(&self, window: &str, stamps: Option<&Bound<'_, PyExpr>>) -> PyResult<PyExpr> {
        let rolling = serde_json::from_str(window).map_err(|why| PyValueError::new_err(format!("rolling: {why}")))?;
        let order = stamps.into_iter().map(|stamps| stamps.get().expr().clone()).collect();
        let window = Window { order, rolling: Some(rolling), ..Window::default() };
        self.expr().clone().over(window).map(PyExpr::new).map_err(raised)
    }

    /// What runs on from row to row, by stamps if they are given. `runs`: as plans write it.
    fn running(&self, runs: &str, stamps: Option<&Bound<'_, PyExpr>>) -> PyResult<PyExpr> {
        let runs = serde_json::from_str(runs).map_err(|why| PyValueError::new_err(format!("running: {why}")))?;
        let stamps = stamps.map(|stamps| stamps.get().expr().clone());
        self.expr().clone().running(runs, stamps).map(PyExpr::new).map_err(raised)
    }

    /// Lists of what an expression makes of the elements of each list, and of them those for which `keep` is true.
    fn list_eval(&self, body: &Bound<'_, PyExpr>, keep: Option<&Bound<'_, PyExpr>>) -> PyResult<PyExpr> {
        let keep = keep.map(|keep| keep.get().expr().clone());
        self.expr().clone().list_eval(body.get().expr().clone(), keep).map(PyExpr::new).map_err(raised)
    }

    /// Over groups of these keys: what its aggregates read of other rows is kept within the group.
    fn of_groups(&self, by: Vec<Bound<'_, PyExpr>>) -> PyResult<PyExpr> {
        let by: Vec<Expr> = by.iter().map(|each| each.get().expr().unaliased().clone()).collect();
        self.expr().of_groups(&by).map(PyExpr::new).map_err(raised)
    }

    /// Whether an aggregate in it is of what reads other rows.
    fn aggregates_other_rows(&self) -> bool {
        self.expr().aggregates_other_rows()
    }

    /// Over groups: the list of a group's values in place of each column.
    fn over_groups(&self) -> PyExpr {
        PyExpr::new(self.expr().over_groups())
    }

    /// Whether it is among the values of a table's only column, as they are at every step.
    fn in_table(&self, table: &Bound<'_, PyTable>, nulls_equal: bool) -> PyResult<PyExpr> {
        let set = engine::plan::live_set("is_in", table.get().checked()?).map_err(error::raise)?;
        let made = Expr::InSet { input: std::sync::Arc::new(self.expr().clone()), set, nulls_equal };
        made.within_limits().map(PyExpr::new).map_err(raised)
    }

    fn alias(&self, name: &str) -> PyExpr {
        PyExpr::new(self.expr().clone().alias(name))
    }

    fn cast(&self, spec: &Bound<'_, PyTuple>, strict: bool) -> PyResult<PyExpr> {
        self.expr().clone().cast(from_spec(spec)?, strict).map(PyExpr::new).map_err(raised)
    }

    fn output_name(&self) -> PyResult<String> {
        self.expr().output_name().map_err(raised)
    }

    fn columns(&self) -> Vec<String> {
        self.expr().columns().into_iter().map(str::to_owned).collect()
    }

    /// The column's name if this is a column and nothing else.
    fn bare_column(&self) -> Option<String> {
        match self.expr() {
            Expr::Column(name) => Some(name.to_string()),
            _ => None,
        }
    }

    /// Whether a function of the user stands in it.
    fn calls_host(&self) -> bool {
        self.expr().calls_host()
    }

    fn is_aggregate(&self) -> bool {
        self.expr().is_aggregate()
    }

    fn same(&self, other: &Bound<'_, PyExpr>) -> bool {
        self.expr() == other.get().expr()
    }

    /// The Python text that makes this expression again.
    fn text(&self) -> String {
        self.expr().to_python()
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(self.expr()).map_err(|why| error::InternalError::new_err(why.to_string()))
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyExpr> {
        let read: Expr = formula::json::read(text).map_err(error::DataError::new_err)?;
        read.check_well_formed().map_err(raised)?;
        if !read.live_sets().is_empty() {
            let message = "a live set is a table of one process; an expression with it is not written down";
            return Err(error::DataError::new_err(message));
        }
        Ok(PyExpr::new(read))
    }
}

/// The value of an option of an aggregate.
fn given(aggregate: &str, setting: &Setting, value: &Bound<'_, PyAny>) -> PyResult<Given> {
    Ok(match setting.kind {
        SettingKind::Whole(u64::MAX) => Given::Whole(value.extract::<Counted<u64>>()?.0),
        SettingKind::Whole(_) => Given::Whole(
            value.extract().map_err(|_| PyValueError::new_err(setting.refused(aggregate, &cells::shown(value))))?,
        ),
        SettingKind::Part => Given::Number(value.extract()?),
        SettingKind::Flag => Given::Flag(
            value.extract().map_err(|_| PyValueError::new_err(setting.refused(aggregate, &cells::shown(value))))?,
        ),
        SettingKind::Word(_) => Given::Word(value.extract()?),
    })
}

/// The function with the options given; those left out are at their defaults.
fn with_options(mut function: Function, given: &Bound<'_, PyDict>) -> PyResult<Function> {
    let name = function.name();
    let mut options = function.options();
    for (option, value) in given {
        let option: String = option.extract()?;
        let Some((_, place)) = options.iter_mut().find(|(known, _)| *known == option) else {
            return Err(PyTypeError::new_err(format!("{name} has no option {option}")));
        };
        match place {
            OptionValue::Flag(flag) => **flag = value.extract()?,
            OptionValue::Small(number) => **number = value.extract::<Counted<_>>()?.0,
            OptionValue::Number(number) => **number = value.extract::<Counted<_>>()?.0,
            OptionValue::Rows(rows) => **rows = value.extract::<Counted<_>>()?.0,
            OptionValue::Seed(seed) => **seed = value.extract()?,
            OptionValue::Ends(ends) => {
                let given: String = value.extract()?;
                **ends = Closed::named(&given).ok_or_else(|| {
                    let known = "\"both\", \"left\", \"right\" or \"none\"";
                    PyValueError::new_err(format!("{option} must be {known}, not {given:?}"))
                })?;
            }
        }
    }
    Ok(function)
}
