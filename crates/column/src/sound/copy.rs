//! A deep copy of an array: every buffer, child and dictionary, of each only the part that the array shows.
//!
//! The original may be wrong, or change meanwhile: every place that is read is looked up, none is believed.

#![allow(unsafe_code, reason = "arrays are put together before they are judged")]

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ByteView};
use arrow_schema::{ArrowError, DataType, UnionMode};
use limits::Exhausted;

use crate::error::Error;

fn torn(what: &str) -> Error {
    ArrowError::InvalidArgumentError(format!("{what} lie outside of their memory")).into()
}

/// A copy of bytes in memory of the engine, aligned for every type, if the budget has room for it.
pub fn copy_bytes(from: &[u8]) -> Result<Buffer, Exhausted> {
    const WORD: usize = size_of::<u128>();
    let mut words: Vec<u128> = room(from.len().div_ceil(WORD))?;
    let (whole, rest) = from.as_chunks::<WORD>();
    words.extend(whole.iter().map(|word| u128::from_ne_bytes(*word)));
    if !rest.is_empty() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u128::from_ne_bytes(last));
    }
    Ok(Buffer::from_vec(words).slice_with_length(0, from.len()))
}

/// Room for so many items, if the budget and the system have it.
fn room<T>(items: usize) -> Result<Vec<T>, Exhausted> {
    let need = (items as u64).saturating_mul(size_of::<T>() as u64);
    limits::ask(need)?;
    let mut made = Vec::new();
    made.try_reserve_exact(items).map_err(|_| Exhausted::of_process(need))?;
    Ok(made)
}

/// So many items of `width` bytes, from the item `start` on.
fn items(data: &ArrayData, buffer: usize, start: usize, count: usize, width: usize) -> Result<Buffer, Error> {
    let from = data.buffers().get(buffer).map_or(&[][..], Buffer::as_slice);
    let range = start.checked_mul(width).zip(count.checked_mul(width));
    let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?));
    Ok(copy_bytes(range.and_then(|range| from.get(range)).ok_or_else(|| torn("cells"))?)?)
}

/// Bits, moved to the start of a byte.
fn bits(from: &Buffer, start: usize, count: usize) -> Result<Buffer, Error> {
    if start.checked_add(count).is_none_or(|end| end > from.len().saturating_mul(8)) {
        return Err(torn("bits"));
    }
    if start.is_multiple_of(8) {
        return Ok(copy_bytes(&from.as_slice()[start / 8..(start + count).div_ceil(8)])?);
    }
    limits::ask(count.div_ceil(8) as u64)?;
    Ok(from.bit_slice(start, count))
}

fn nulls(data: &ArrayData) -> Result<Option<NullBuffer>, Error> {
    let copy = |nulls: &NullBuffer| {
        let valid = bits(nulls.inner().inner(), nulls.offset(), nulls.len())?;
        Ok(NullBuffer::new(BooleanBuffer::new(valid, 0, nulls.len())))
    };
    data.nulls().map(copy).transpose()
}

fn part(data: &ArrayData, start: usize, count: usize) -> Result<ArrayData, Error> {
    if start.checked_add(count).is_none_or(|end| end > data.len()) {
        return Err(torn("items"));
    }
    copied(&data.slice(start, count))
}

type Parts = (Vec<Buffer>, Vec<ArrayData>);

/// Copies the cells into memory that the engine owns. The copy is not validated yet.
pub(super) fn copied(data: &ArrayData) -> Result<ArrayData, Error> {
    let (start, count) = (data.offset(), data.len());
    let children = || data.child_data().iter().map(copied).collect::<Result<Vec<_>, _>>();
    let mut offset = 0;
    let (buffers, children): Parts = match data.data_type() {
        DataType::Null => (Vec::new(), Vec::new()),
        DataType::Boolean => (vec![bits(&data.buffers()[0], start, count)?], Vec::new()),
        DataType::Utf8 | DataType::Binary => strings::<i32>(data)?,
        DataType::LargeUtf8 | DataType::LargeBinary => strings::<i64>(data)?,
        DataType::Utf8View | DataType::BinaryView => (views(data)?, Vec::new()),
        DataType::List(_) | DataType::Map(..) => lists::<i32>(data)?,
        DataType::LargeList(_) => lists::<i64>(data)?,
        DataType::ListView(_) => (places(data, 4)?, children()?),
        DataType::LargeListView(_) => (places(data, 8)?, children()?),
        DataType::FixedSizeList(_, width) => {
            let width = usize::try_from(*width).map_err(|_| torn("items"))?;
            let range = start.checked_mul(width).zip(count.checked_mul(width));
            let (start, count) = range.ok_or_else(|| torn("items"))?;
            (Vec::new(), vec![part(&data.child_data()[0], start, count)?])
        }
        DataType::Struct(_) => {
            let fields = data.child_data().iter().map(|child| part(child, start, count));
            (Vec::new(), fields.collect::<Result<_, _>>()?)
        }
        DataType::Dictionary(key, _) => {
            (vec![items(data, 0, start, count, key.primitive_width().unwrap_or(1))?], children()?)
        }
        DataType::RunEndEncoded(..) => {
            offset = start;
            (Vec::new(), children()?)
        }
        DataType::Union(_, UnionMode::Dense) => {
            (vec![items(data, 0, start, count, 1)?, items(data, 1, start, count, 4)?], children()?)
        }
        DataType::Union(_, UnionMode::Sparse) => {
            let fields = data.child_data().iter().map(|child| part(child, start, count));
            (vec![items(data, 0, start, count, 1)?], fields.collect::<Result<_, _>>()?)
        }
        DataType::FixedSizeBinary(width) => {
            let width = usize::try_from(*width).map_err(|_| torn("cells"))?;
            (vec![items(data, 0, start, count, width)?], Vec::new())
        }
        plain => (vec![items(data, 0, start, count, plain.primitive_width().unwrap_or(1))?], Vec::new()),
    };
    let builder = ArrayData::builder(data.data_type().clone()).len(count).offset(offset).nulls(nulls(data)?);
    // SAFETY: nobody reads it as an array before `super::array`, the only caller, has judged it.
    let made = unsafe { builder.buffers(buffers).child_data(children).skip_validation(true) }.build();
    Ok(made?)
}

/// The two buffers of a list view.
fn places(data: &ArrayData, width: usize) -> Result<Vec<Buffer>, Error> {
    (0..2).map(|buffer| items(data, buffer, data.offset(), data.len(), width)).collect()
}

/// Offsets that start at zero, and what they enclose in the original.
fn offsets<O: ArrowNativeType>(data: &ArrayData) -> Result<(Buffer, usize, usize), Error> {
    if data.is_empty() {
        return Ok((Buffer::from_vec(vec![O::default()]), 0, 0));
    }
    let own = items(data, 0, data.offset(), data.len() + 1, size_of::<O>())?;
    let ends = own.typed_data::<O>();
    let place = |offset: &O| offset.to_usize().ok_or_else(|| torn("offsets"));
    let (first, last) = (place(&ends[0])?, place(&ends[ends.len() - 1])?);
    let count = last.checked_sub(first).ok_or_else(|| torn("offsets"))?;
    if first == 0 {
        return Ok((own, first, count));
    }
    let mut moved = ends.iter().map(|end| {
        let moved = place(end)?.checked_sub(first).and_then(O::from_usize);
        moved.ok_or_else(|| torn("offsets"))
    });
    let mut from_zero = room(ends.len())?;
    moved.try_for_each(|end| end.map(|end| from_zero.push(end)))?;
    Ok((Buffer::from_vec(from_zero), first, count))
}

fn strings<O: ArrowNativeType>(data: &ArrayData) -> Result<Parts, Error> {
    let (offsets, first, count) = offsets::<O>(data)?;
    Ok((vec![offsets, items(data, 1, first, count, 1)?], Vec::new()))
}

fn lists<O: ArrowNativeType>(data: &ArrayData) -> Result<Parts, Error> {
    let (offsets, first, count) = offsets::<O>(data)?;
    Ok((vec![offsets], vec![part(&data.child_data()[0], first, count)?]))
}

/// The most bytes that go into one buffer of strings: a view counts them in 32 bits.
const BUFFER: usize = 1 << 30;

/// Views, and the bytes they show: their buffers as they are, or, where these hold more, the strings one by one.
fn views(data: &ArrayData) -> Result<Vec<Buffer>, Error> {
    let own = items(data, 0, data.offset(), data.len(), size_of::<u128>())?;
    let texts = &data.buffers()[1..];
    let long = |(row, &view): (usize, &u128)| {
        let view = ByteView::from(view);
        (view.length > 12 && data.is_valid(row)).then_some(view)
    };
    let cells = own.typed_data::<u128>();
    let shown: u64 = cells.iter().enumerate().filter_map(long).map(|view| u64::from(view.length)).sum();
    if shown >= texts.iter().map(|text| text.len() as u64).sum() {
        let whole = texts.iter().map(|text| Ok(copy_bytes(text.as_slice())?));
        return [Ok(own)].into_iter().chain(whole).collect();
    }
    let mut made: Vec<Vec<u8>> = Vec::new();
    let mut moved = room(cells.len())?;
    limits::ask(shown)?;
    for (row, &cell) in cells.iter().enumerate() {
        let Some(mut view) = long((row, &cell)) else {
            moved.push(if data.is_valid(row) { cell } else { 0 });
            continue;
        };
        let (from, len) = (view.offset as usize, view.length as usize);
        let text = texts.get(view.buffer_index as usize).and_then(|text| text.get(from..from + len));
        let text = text.ok_or_else(|| torn("views"))?;
        if made.last().is_none_or(|last| last.len() + len > BUFFER.max(len)) {
            made.push(Vec::new());
        }
        view.buffer_index = made.len() as u32 - 1;
        let last = made.last_mut().expect("one was just made, if there was none");
        view.offset = last.len() as u32;
        last.extend_from_slice(text);
        moved.push(view.as_u128());
    }
    Ok([Buffer::from_vec(moved)].into_iter().chain(made.into_iter().map(Buffer::from_vec)).collect())
}
