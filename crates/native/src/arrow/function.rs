//! Compiled functions of other packages: a C structure in a capsule, called once a chunk without the GIL. The structure is
//! that of `python/tickframe/include/tickframe_function.h`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use ::column::sound::{self, Memory, Unsound};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use formula::values::Payload;
use formula::{Host, HostFailure};
use pyo3::prelude::*;

use super::{held, raw};
use crate::cells;
use crate::error::DataError;

const FUNCTION: &CStr = c"tickframe_function";
const VERSION: i32 = 1;
const STATEFUL: i32 = 1;
/// Bytes of a message.
const ROOM: usize = 1 << 10;

type Types = *const *const FFI_ArrowSchema;
type Returns = unsafe extern "C" fn(*mut c_void, i64, Types, *mut FFI_ArrowSchema, *mut c_char, usize) -> c_int;
type Call = unsafe extern "C" fn(
    *mut c_void,
    i64,
    i64,
    Types,
    *const *const FFI_ArrowArray,
    *mut FFI_ArrowArray,
    *mut c_char,
    usize,
) -> c_int;

/// `struct TickframeFunction`.
#[repr(C)]
struct CFunction {
    version: i32,
    flags: i32,
    name: *const c_char,
    state: *mut c_void,
    returns: Option<Returns>,
    call: Option<Call>,
}

/// A compiled function, and the objects that keep it.
pub struct Compiled {
    name: String,
    ordered: bool,
    state: *mut c_void,
    returns: Returns,
    call: Call,
    /// The object that has it, and its capsule.
    _owners: [Py<PyAny>; 2],
}

// SAFETY: the structure's contract is that its functions are called on any thread, with the state that it has.
unsafe impl Send for Compiled {}
// SAFETY: as above; a function that is to be called by one thread at a time says so by its flags.
unsafe impl Sync for Compiled {}

impl Compiled {
    /// The function that an object has.
    pub fn of(source: &Bound<'_, PyAny>) -> PyResult<Compiled> {
        let giver = cells::named(source);
        let capsule = source.call_method0("__tickframe_function__")?;
        let pointer: NonNull<CFunction> = held(&capsule, FUNCTION, "udf", source)?.cast();
        let wrong = |why: String| DataError::new_err(format!("udf: the compiled function of {giver} {why}"));
        // SAFETY: a capsule of this name holds a structure whose first member is its version.
        let version = unsafe { pointer.cast::<i32>().read_unaligned() };
        if version != VERSION {
            return Err(wrong(format!("is of version {version}, and this tickframe knows version {VERSION}")));
        }
        // SAFETY: of this version, it is this structure; the capsule, which is kept, keeps it.
        let raw = unsafe { pointer.read_unaligned() };
        if raw.name.is_null() {
            return Err(wrong("has no name".to_owned()));
        }
        // SAFETY: the name ends with a zero.
        let name = unsafe { CStr::from_ptr(raw.name) }.to_string_lossy().into_owned();
        let (Some(returns), Some(call)) = (raw.returns, raw.call) else {
            return Err(wrong(format!("{name} lacks one of its functions, returns and call")));
        };
        let owners = [source.clone().unbind(), capsule.unbind()];
        Ok(Compiled { name, ordered: raw.flags & STATEFUL != 0, state: raw.state, returns, call, _owners: owners })
    }

    /// The field of the result, as the function says it.
    fn result(&self, types: &[*const FFI_ArrowSchema]) -> Result<Field, String> {
        let (mut result, mut message) = (FFI_ArrowSchema::empty(), [0_u8; ROOM]);
        // SAFETY: the pointers lead to structures that live during the call, as many as is said; the message has its room.
        let failed = unsafe {
            (self.returns)(
                self.state,
                types.len() as i64,
                types.as_ptr(),
                &raw mut result,
                message.as_mut_ptr().cast(),
                ROOM,
            )
        };
        if failed != 0 {
            return Err(self.told(&message, "takes no such arguments"));
        }
        let field = raw::field(&result).map_err(|unsound| self.unsound("the type of its result", &unsound))?;
        sound::one_type(field.data_type()).map_err(|unsound| self.unsound("the type of its result", &unsound))?;
        Ok(field)
    }

    fn cells(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String> {
        let plain = args.iter().map(plain).collect::<Result<Vec<_>, String>>()?;
        let types = plain.iter().map(|array| schema_of(array.data_type())).collect::<Result<Vec<_>, String>>()?;
        let arrays = plain
            .iter()
            .map(|array| to_ffi(&array.to_data()).map(|(array, _)| array).map_err(|wrong| wrong.to_string()))
            .collect::<Result<Vec<FFI_ArrowArray>, String>>()?;
        let types: Vec<*const FFI_ArrowSchema> = types.iter().map(std::ptr::from_ref).collect();
        let field = self.result(&types)?;
        let arrays: Vec<*const FFI_ArrowArray> = arrays.iter().map(std::ptr::from_ref).collect();
        let (mut result, mut message) = (FFI_ArrowArray::empty(), [0_u8; ROOM]);
        // SAFETY: as in `result`; the arrays are those of the types.
        let failed = unsafe {
            (self.call)(
                self.state,
                rows as i64,
                types.len() as i64,
                types.as_ptr(),
                arrays.as_ptr(),
                &raw mut result,
                message.as_mut_ptr().cast(),
                ROOM,
            )
        };
        if failed != 0 {
            return Err(self.told(&message, "failed, and does not say why"));
        }
        let judged = raw::data(result, field.data_type()).and_then(|data| sound::array(data, Memory::Shared));
        let made = judged.map_err(|unsound| self.unsound("its result", &unsound))?;
        if made.len() != rows {
            return Err(format!("{} gave {} values for {rows} rows", self.name, made.len()));
        }
        let canonical = ::column::types::canonical(field.data_type());
        ::column::types::cast(&made, &canonical).map_err(|wrong| format!("{}: its result: {wrong}", self.name))
    }

    fn told(&self, message: &[u8], unsaid: &str) -> String {
        let end = message.iter().position(|byte| *byte == 0).unwrap_or(message.len());
        match String::from_utf8_lossy(&message[..end]) {
            text if text.is_empty() => format!("{} {unsaid}", self.name),
            text => format!("{}: {text}", self.name),
        }
    }

    fn unsound(&self, what: &str, unsound: &Unsound) -> String {
        format!("{}: {what} is not sound Arrow data: {}", self.name, unsound.why)
    }
}

impl Host for Compiled {
    fn name(&self) -> &str {
        &self.name
    }

    fn returns(&self, args: &[DataType]) -> Result<DataType, String> {
        let types = args.iter().map(|kind| schema_of(&plain_type(kind))).collect::<Result<Vec<_>, String>>()?;
        let types: Vec<*const FFI_ArrowSchema> = types.iter().map(std::ptr::from_ref).collect();
        Ok(::column::types::canonical(self.result(&types)?.data_type()))
    }

    fn is_ordered(&self) -> Option<bool> {
        Some(self.ordered)
    }

    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        let failed = |message| HostFailure { row: None, message, payload: Payload(Arc::new(())) };
        self.cells(args, rows).map_err(failed)
    }
}

/// Texts leave as plain ones: few libraries know views.
fn plain_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

fn plain(array: &ArrayRef) -> Result<ArrayRef, String> {
    let kind = plain_type(array.data_type());
    if kind == *array.data_type() {
        return Ok(Arc::clone(array));
    }
    arrow_cast::cast(array, &kind).map_err(|wrong| wrong.to_string())
}

fn schema_of(kind: &DataType) -> Result<FFI_ArrowSchema, String> {
    FFI_ArrowSchema::try_from(&Field::new("argument", kind.clone(), true)).map_err(|wrong| wrong.to_string())
}
