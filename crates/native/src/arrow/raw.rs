//! The structures of the C data interface, read by hand: each count and each pointer is looked at before it is followed,
//! so that what breaks the protocol is an error with words. Only what the protocol cannot tell is believed: that a pointer
//! leads to as many bytes as its array needs.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use ::column::sound::{Tally, Unsound};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{ArrowError, DataType, Field};
use limits::bounds::{FIELDS, METADATA_BYTES, NAME_BYTES};

/// `struct ArrowSchema` of the C data interface.
#[repr(C)]
struct CSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut CSchema,
    dictionary: *mut CSchema,
    release: Option<unsafe extern "C" fn(*mut CSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray` of the C data interface.
#[repr(C)]
struct CArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut CArray,
    dictionary: *mut CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private_data: *mut c_void,
}

fn wrong<T>(why: impl Into<String>) -> Result<T, Unsound> {
    Err(Unsound::new(why))
}

/// The pointers in an array of so many of them, none of which is null.
fn pointers<'a, T>(of: &str, count: i64, first: *mut *mut T) -> Result<Vec<&'a T>, Unsound> {
    let count = usize::try_from(count).map_err(|_| Unsound::new(format!("{count} {of}")))?;
    if count > FIELDS {
        return wrong(format!("{count} {of}, more than the {FIELDS} that a schema may have"));
    }
    if count > 0 && first.is_null() {
        return wrong(format!("{count} {of}, but no pointer to them"));
    }
    let one = |index: usize| {
        // SAFETY: the protocol says that `count` pointers stand at `first`, each null or that of a living structure.
        unsafe { (*first.add(index)).as_ref() }.ok_or_else(|| Unsound::new(format!("a missing one among the {of}")))
    };
    (0..count).map(one).collect()
}

/// The field that a schema structure describes; a stream of batches has one struct.
pub(super) fn field(schema: &FFI_ArrowSchema) -> Result<Field, Unsound> {
    // SAFETY: both are `struct ArrowSchema`, and borrowed alike.
    let raw = unsafe { &*std::ptr::from_ref(schema).cast::<CSchema>() };
    if raw.release.is_none() {
        return wrong("the Arrow schema was already read: it can be read once");
    }
    let mut tally = Tally::default();
    if text(raw.format)?.as_deref() == Some("+s") {
        Tally::columns(usize::try_from(raw.n_children).unwrap_or(usize::MAX))?;
        for column in pointers("columns", raw.n_children, raw.children)? {
            let name = text(column.name)?.unwrap_or_default();
            check(column, 0, &mut tally).map_err(|unsound| unsound.of(&name))?;
        }
        tally.field(0, 0, metadata_bytes(raw.metadata)?)?;
    } else {
        check(raw, 0, &mut tally)?;
    }
    Field::try_from(schema).map_err(|refused| match refused {
        ArrowError::CDataInterface(message) => Unsound::new(message),
        other => Unsound::new(other.to_string()),
    })
}

fn check(raw: &CSchema, depth: usize, tally: &mut Tally) -> Result<(), Unsound> {
    let Some(format) = text(raw.format)? else { return wrong("a field without a type") };
    let name = text(raw.name)?.unwrap_or_default();
    tally.field(depth, name.len(), metadata_bytes(raw.metadata)?)?;
    if let "_pli128" | "_plu128" = format.as_str() {
        return wrong(
            "128-bit integers of polars have no Arrow type; cast them first: pl.col(…).cast(pl.Decimal(38, 0))",
        );
    }
    for child in pointers("child fields", raw.n_children, raw.children)? {
        check(child, depth + 1, tally)?;
    }
    // SAFETY: the protocol says that it is null or a living structure.
    match unsafe { raw.dictionary.as_ref() } {
        Some(values) => check(values, depth + 1, tally),
        None => Ok(()),
    }
}

/// A text that ends with a zero, if it is not too long.
fn text(start: *const c_char) -> Result<Option<String>, Unsound> {
    if start.is_null() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for index in 0..=NAME_BYTES {
        // SAFETY: the protocol says that the text ends with a zero, which was not met yet.
        match unsafe { *start.add(index) } {
            0 => break,
            byte => bytes.push(byte.cast_unsigned()),
        }
    }
    if bytes.len() > NAME_BYTES {
        return wrong(format!("a name has at most {NAME_BYTES} bytes"));
    }
    String::from_utf8(bytes).map(Some).or_else(|_| wrong("a name that is no UTF-8"))
}

/// How many bytes of keys and values the metadata has: counts and lengths are 32 bits wide, wherever they stand.
fn metadata_bytes(start: *const c_char) -> Result<usize, Unsound> {
    if start.is_null() {
        return Ok(0);
    }
    let mut at = 0;
    let mut number = |skip: usize| {
        at += skip;
        // SAFETY: the protocol says that a number stands here; it may be anywhere, and is read as such.
        let number = unsafe { start.add(at).cast::<i32>().read_unaligned() };
        at += size_of::<i32>();
        match usize::try_from(number) {
            Ok(number) if at + number <= METADATA_BYTES => Ok((number, at)),
            _ => wrong(format!("metadata of a negative length, or of more than {METADATA_BYTES} bytes")),
        }
    };
    let (pairs, mut end) = number(0)?;
    let mut before = 0;
    for _ in 0..pairs * 2 {
        (before, end) = number(before)?;
    }
    Ok(end + before)
}

/// The cells of an array structure of this type, where they lie; not judged yet.
pub(super) fn data(array: FFI_ArrowArray, kind: &DataType) -> Result<ArrayData, Unsound> {
    if array.is_released() {
        return wrong("the Arrow array was already read: it can be read once");
    }
    let owner = Arc::new(array);
    // SAFETY: both are `struct ArrowArray`, and borrowed alike; the owner lives as long as any buffer.
    let raw = unsafe { &*Arc::as_ptr(&owner).cast::<CArray>() };
    node(&owner, raw, kind)
}

/// The longest array: its bytes can be counted, whatever its cells.
const LONGEST: i64 = 1 << 56;

fn node(owner: &Arc<FFI_ArrowArray>, raw: &CArray, kind: &DataType) -> Result<ArrayData, Unsound> {
    let inside = |number: i64| (0..=LONGEST).contains(&number);
    if !inside(raw.length) || !inside(raw.offset) {
        return wrong(format!("an array of length {} and offset {}", raw.length, raw.offset));
    }
    let (length, offset) = (raw.length as usize, raw.offset as usize);
    let (valid, buffers) = Buffers::of(owner, raw, kind)?.taken(kind, length + offset)?;
    let nulls = valid.map(|valid| NullBuffer::new(BooleanBuffer::new(valid, offset, length)));
    let counted = nulls.as_ref().map_or(0, NullBuffer::null_count);
    // Types without a bitmap of their own may say what they like.
    if raw.null_count >= 0 && layout(kind).can_contain_null_mask && raw.null_count as usize != counted {
        return wrong(format!("the array says that it has {} nulls, and has {counted}", raw.null_count));
    }
    let builder = ArrayData::builder(kind.clone()).len(length).offset(offset).nulls(nulls).buffers(buffers);
    let builder = builder.child_data(children(owner, raw, kind)?).align_buffers(true);
    // SAFETY: nobody reads it as an array before it was judged.
    let made = unsafe { builder.skip_validation(true) }.build();
    made.map_err(|refused| Unsound::new(refused.to_string()))
}

fn children(owner: &Arc<FFI_ArrowArray>, raw: &CArray, kind: &DataType) -> Result<Vec<ArrayData>, Unsound> {
    let kinds: Vec<&DataType> = match kind {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        DataType::Dictionary(_, values) => {
            // SAFETY: the protocol says that it is null or a living structure.
            let Some(dictionary) = (unsafe { raw.dictionary.as_ref() }) else {
                return wrong("the dictionary is missing");
            };
            return Ok(vec![node(owner, dictionary, values)?]);
        }
        _ => Vec::new(),
    };
    let found = pointers("child arrays", raw.n_children, raw.children)?;
    if found.len() != kinds.len() {
        return wrong(format!("{} child arrays, but its type has {}", found.len(), kinds.len()));
    }
    found.into_iter().zip(kinds).map(|(child, kind)| node(owner, child, kind)).collect()
}

/// The pointers of one array, and what keeps them alive.
struct Buffers<'a> {
    owner: &'a Arc<FFI_ArrowArray>,
    pointers: Vec<*const u8>,
}

impl<'a> Buffers<'a> {
    fn of(owner: &'a Arc<FFI_ArrowArray>, raw: &CArray, kind: &DataType) -> Result<Buffers<'a>, Unsound> {
        // Some producers send a bitmap with an array of nulls, which has none; nothing of it is needed.
        if *kind == DataType::Null {
            return Ok(Buffers { owner, pointers: Vec::new() });
        }
        let layout = layout(kind);
        let least = usize::from(layout.can_contain_null_mask) + layout.buffers.len() + usize::from(layout.variadic);
        let count = usize::try_from(raw.n_buffers).unwrap_or(0);
        if count < least || (count > least && !layout.variadic) || count > FIELDS {
            return wrong(format!("{} buffers, but its type has {least}", raw.n_buffers));
        }
        if count > 0 && raw.buffers.is_null() {
            return wrong(format!("{count} buffers, but no pointer to them"));
        }
        // SAFETY: the protocol says that so many pointers stand there.
        let pointers = (0..count).map(|index| unsafe { *raw.buffers.add(index) }.cast::<u8>()).collect();
        Ok(Buffers { owner, pointers })
    }

    /// The bitmap of what is valid, and the rest, for so many cells.
    fn taken(&self, kind: &DataType, cells: usize) -> Result<(Option<Buffer>, Vec<Buffer>), Unsound> {
        let layout = layout(kind);
        let first = usize::from(layout.can_contain_null_mask);
        let masked = layout.can_contain_null_mask && !self.pointers[0].is_null();
        let valid = if masked { Some(self.bytes(0, cells.div_ceil(8))?) } else { None };
        let mut made: Vec<Buffer> = Vec::with_capacity(layout.buffers.len());
        for (index, spec) in layout.buffers.iter().enumerate() {
            made.push(match spec {
                BufferSpec::FixedWidth { byte_width, .. } if index == 0 && has_offsets(kind) => match cells {
                    // Not every producer has the one offset of nothing.
                    0 => Buffer::from_vec(vec![0_i64]).slice_with_length(0, *byte_width),
                    cells => self.bytes(first, (cells + 1) * byte_width)?,
                },
                BufferSpec::FixedWidth { byte_width, .. } => self.bytes(first + index, cells * byte_width)?,
                BufferSpec::BitMap => self.bytes(first + index, cells.div_ceil(8))?,
                BufferSpec::VariableWidth => self.bytes(first + index, last_offset(&made[0], kind)?)?,
                BufferSpec::AlwaysNull => continue,
            });
        }
        if layout.variadic {
            made.extend(self.variadic(first + layout.buffers.len())?);
        }
        Ok((valid, made))
    }

    /// The buffers behind those that each view array has; the last of all holds their lengths.
    fn variadic(&self, first: usize) -> Result<Vec<Buffer>, Unsound> {
        let last = self.pointers.len() - 1;
        let lengths = self.bytes(last, (last - first) * size_of::<i64>())?;
        let lengths = lengths.as_slice().as_chunks().0.iter().map(|length| i64::from_ne_bytes(*length));
        let one = |(index, length): (usize, i64)| match usize::try_from(length) {
            Ok(length) if length <= LONGEST as usize => self.bytes(first + index, length),
            _ => wrong(format!("a buffer of {length} bytes")),
        };
        lengths.enumerate().map(one).collect()
    }

    fn bytes(&self, index: usize, length: usize) -> Result<Buffer, Unsound> {
        if length == 0 {
            return Ok(Buffer::from_vec(Vec::<u128>::new()));
        }
        let Some(start) = std::ptr::NonNull::new(self.pointers[index].cast_mut()) else {
            return wrong(format!("buffer {index} is missing"));
        };
        // SAFETY: the protocol says that as many bytes stand there as the type, length and offset of the array tell, and
        // that they stay until the array is released, which its last owner does.
        Ok(unsafe { Buffer::from_custom_allocation(start, length, Arc::clone(self.owner) as _) })
    }
}

fn has_offsets(kind: &DataType) -> bool {
    use DataType::{Binary, LargeBinary, LargeList, LargeUtf8, List, Map, Utf8};
    matches!(kind, Utf8 | LargeUtf8 | Binary | LargeBinary | List(_) | LargeList(_) | Map(..))
}

fn last_offset(offsets: &Buffer, kind: &DataType) -> Result<usize, Unsound> {
    let offset = if matches!(kind, DataType::LargeUtf8 | DataType::LargeBinary) {
        offsets.as_slice().last_chunk().map_or(0, |bytes| i64::from_ne_bytes(*bytes))
    } else {
        offsets.as_slice().last_chunk().map_or(0, |bytes| i64::from(i32::from_ne_bytes(*bytes)))
    };
    match usize::try_from(offset) {
        Ok(end) if end <= LONGEST as usize => Ok(end),
        _ => wrong(format!("text that ends at byte {offset}")),
    }
}
