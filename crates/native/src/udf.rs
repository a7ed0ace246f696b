//! Functions of the user: a Python callable as a function of expressions, called once a chunk under
//! one hold of the GIL.
//!
//! Expressions and the tables made of them hold what they call; the last of them lets the Python objects go. Python
//! drops expressions where no lock is held, and tables without the GIL, where objects wait for who takes it next.

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use engine::interrupt::Interrupt;
use formula::values::Payload;
use formula::{Host, HostFailure, HostId};
use graph::lock;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arrow::Compiled;
use crate::dtype::{from_spec, to_spec};
use crate::ending::{self, Inside};
use crate::error;
use crate::expr::PyExpr;
use crate::raised::{Fault, is_interrupt};
use crate::table_column::PyColumn;
use crate::{data, gil, numpy};

/// A registered function.
///
/// One that refers to itself, in a scope that has ended, is a ring that leads through here: Python's collector is shown
/// what the function holds as long as nothing but this object holds the function. An expression or a table that holds it
/// too is a holder that the collector does not see: a function that captures its own expressions, or tables made by it,
/// stays. To show those the collector would have to be told by each holder of its share, in threads without the GIL.
#[pyclass(frozen, name = "Udf", module = "tickframe._native")]
pub struct PyUdf(Mutex<Option<Held>>);

/// None once the collector has taken it apart.
struct Held {
    id: HostId,
    /// The function where it was made here; else only its number was known.
    function: Option<Arc<PythonFunction>>,
}

impl PyUdf {
    /// The registration.
    pub fn id(&self) -> PyResult<HostId> {
        let held = lock(&self.0);
        held.as_ref().map(|held| held.id.clone()).ok_or_else(|| PyRuntimeError::new_err("the function is gone"))
    }
}

#[pymethods]
impl PyUdf {
    /// `call(columns, rows)` gives values, and which rows are null or None. `returns` is a type, or a
    /// callable that is given the types of the arguments and gives one.
    #[new]
    #[pyo3(signature = (name, call, returns, ordered, by_row))]
    fn new(
        name: String,
        call: Py<PyAny>,
        returns: &Bound<'_, PyAny>,
        ordered: Option<bool>,
        by_row: bool,
    ) -> PyResult<PyUdf> {
        let returns = match returns.cast::<PyTuple>() {
            Ok(spec) => Returns::Always(from_spec(spec)?),
            Err(_) => Returns::Asked(returns.clone().unbind()),
        };
        let function = Arc::new(PythonFunction { name, call, returns, ordered, by_row });
        let id = HostId::register(function.clone());
        Ok(PyUdf(Mutex::new(Some(Held { id, function: Some(function) }))))
    }

    /// The compiled function that an object has in a capsule.
    #[staticmethod]
    fn compiled(source: &Bound<'_, PyAny>) -> PyResult<PyUdf> {
        let id = HostId::register(Arc::new(Compiled::of(source)?));
        Ok(PyUdf(Mutex::new(Some(Held { id, function: None }))))
    }

    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.id()?.name().to_string())
    }

    /// Its number, by which [`PyUdf::known`] finds it.
    #[getter]
    fn number(&self) -> PyResult<u64> {
        Ok(self.id()?.number())
    }

    /// The function of this number, if an expression or a table still holds it.
    #[staticmethod]
    fn known(number: u64) -> Option<PyUdf> {
        HostId::known(number).map(|id| PyUdf(Mutex::new(Some(Held { id, function: None }))))
    }

    fn expr(&self, args: Vec<Bound<'_, PyExpr>>) -> PyResult<PyExpr> {
        let args = args.iter().map(|arg| arg.get().expr().clone()).collect();
        self.id()?.call(args).map(PyExpr::new).map_err(|wrong| error::formula("udf", &wrong, None))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(held) = self.0.try_lock() else { return Ok(()) };
        let Some(function) = held.as_ref().and_then(|held| held.function.as_ref()) else { return Ok(()) };
        // Ours, and that of the registration beside it. Whoever makes another has the GIL.
        if Arc::strong_count(function) != 2 {
            return Ok(());
        }
        visit.call(&function.call)?;
        match &function.returns {
            Returns::Asked(ask) => visit.call(ask),
            Returns::Always(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let held = lock(&self.0).take();
        drop(held);
    }
}

enum Returns {
    Always(DataType),
    Asked(Py<PyAny>),
}

struct PythonFunction {
    name: String,
    call: Py<PyAny>,
    returns: Returns,
    ordered: Option<bool>,
    by_row: bool,
}

impl Host for PythonFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn returns(&self, args: &[DataType]) -> Result<DataType, String> {
        match &self.returns {
            Returns::Always(data_type) => Ok(data_type.clone()),
            Returns::Asked(ask) => {
                let _inside = Inside::enter();
                Python::attach(|py| {
                    let specs = args.iter().map(|arg| to_spec(py, arg)).collect::<PyResult<Vec<_>>>()?;
                    let spec = ask.bind(py).call1((PyList::new(py, specs)?,))?;
                    from_spec(spec.cast::<PyTuple>()?)
                })
                .map_err(|raised: PyErr| {
                    let text = raised.to_string();
                    if Python::attach(|py| is_interrupt(py, &raised)) {
                        gil::interrupted(raised);
                    }
                    text
                })
            }
        }
    }

    fn is_ordered(&self) -> Option<bool> {
        self.ordered
    }

    fn is_by_row(&self) -> bool {
        self.by_row
    }

    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        let _scope = engine::function_scope();
        let _inside = Inside::enter();
        let called = |py: Python<'_>| {
            // Between two chunks a signal is heard, whatever the function does, and whatever it raises is the caller's.
            py.check_signals().map_err(|raised| self.interrupted(py, &raised))?;
            if ending::is_interrupted() && !engine::interrupt::is_uninterrupted() {
                let raised = PyKeyboardInterrupt::new_err("whoever called was interrupted");
                return Err(self.interrupted(py, &raised));
            }
            let run = || {
                let _function = ending::Function::runs(py, &self.name)?;
                self.run(py, args, rows)
            };
            run().map_err(|raised| self.failure(py, &raised))
        };
        engine::interrupt::call(|| Python::attach(called))
    }
}

impl PythonFunction {
    fn run(&self, py: Python<'_>, args: &[ArrayRef], rows: usize) -> PyResult<ArrayRef> {
        let columns: Vec<PyColumn> = args.iter().map(exported).collect::<PyResult<_>>()?;
        let given = self.call.bind(py).call1((columns, rows))?;
        let (values, missing): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) = given.extract()?;
        self.check_is_column(&values, rows)?;
        // Now the result has one reference, if the function kept none.
        std::mem::drop(given);
        let array = self.imported(py, values, rows)?;
        match missing {
            Some(missing) if array.len() == rows => {
                let missing = numpy::import("the rows without a value", &missing)?
                    .ok_or_else(|| error::UdfError::new_err("the rows without a value are told by booleans"))?;
                arrow_select::nullif::nullif(&array, missing.as_boolean()).map_err(error::arrow)
            }
            _ => Ok(array),
        }
    }

    /// The values in the type that was promised, or in their own where the function was asked.
    fn imported(&self, py: Python<'_>, values: Bound<'_, PyAny>, rows: usize) -> PyResult<ArrayRef> {
        let own = values.getattr("dtype").ok();
        let wanted = match &self.returns {
            Returns::Always(data_type) => Some(data_type.clone()),
            Returns::Asked(_) => own.as_ref().and_then(numpy::type_of),
        };
        if let Some(wanted) = wanted
            && own.is_some()
            && values.len().is_ok_and(|len| len == rows)
        {
            let (kept, again) = numpy::adopt(values, &wanted)?;
            match kept {
                Some(array) => return Ok(array),
                None => return self.copied(py, &again),
            }
        }
        self.copied(py, &values)
    }

    fn copied(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
        let columns = PyDict::new(py);
        columns.set_item("result", values)?;
        let schema = match &self.returns {
            Returns::Always(data_type) => {
                Some(Arc::new(Schema::new(vec![Field::new("result", data_type.clone(), true)])))
            }
            Returns::Asked(_) => None,
        };
        let batch = data::import(&self.name, columns.as_any(), schema.as_ref())?.one_batch()?;
        Ok(Arc::clone(batch.column(0)))
    }
}

/// Computed strings leave as plain ones: few kernels know views.
fn exported(array: &ArrayRef) -> PyResult<PyColumn> {
    let plain = match array.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    };
    let array = if plain == *array.data_type() {
        Arc::clone(array)
    } else {
        arrow_cast::cast(array, &plain).map_err(error::arrow)?
    };
    Ok(PyColumn::of(Field::new("argument", plain, true), array))
}

impl PythonFunction {
    /// What the Python wrapper raised: a `UdfError` that knows the row, from the user's own exception.
    fn failure(&self, py: Python<'_>, raised: &PyErr) -> HostFailure {
        if is_interrupt(py, raised) {
            return self.interrupted(py, raised);
        }
        let value = raised.value(py);
        let row = value.getattr("row").and_then(|row| row.extract::<usize>()).ok();
        let cause = raised
            .cause(py)
            .map_or_else(|| value.clone().into_any().unbind(), |cause| cause.value(py).clone().into_any().unbind());
        let message = value.str().map_or_else(|_| "it raised".to_owned(), |text| text.to_string());
        HostFailure { row, message, payload: Payload(Arc::new(Fault(cause))) }
    }

    /// What ends the call that the function works for.
    fn interrupted(&self, py: Python<'_>, raised: &PyErr) -> HostFailure {
        gil::interrupts_others(py, raised.clone_ref(py));
        let fault: engine::External = Arc::new(Fault(raised.value(py).clone().into_any().unbind()));
        let message = format!("{} was ended by {raised}", self.name);
        HostFailure { row: None, message, payload: Payload(Arc::new(Interrupt(fault))) }
    }

    /// A function of columns gives a column: not None, and not one value for all rows.
    fn check_is_column(&self, values: &Bound<'_, PyAny>, rows: usize) -> PyResult<()> {
        let what = if values.is_none() {
            "None: does it lack a return?".to_owned()
        } else if values.getattr("ndim").and_then(|ndim| ndim.extract::<usize>()).is_ok_and(|ndim| ndim == 0) {
            "one value".to_owned()
        } else {
            return Ok(());
        };
        let wanted = format!("it must give a column of {rows} values, one for each row it is called with");
        Err(error::UdfError::new_err(format!("{} gave {what}; {wanted}", self.name)))
    }
}
