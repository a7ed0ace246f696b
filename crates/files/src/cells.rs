//! Cells of one column from texts and from values of JSON.

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryViewBuilder, BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_cast::parse::{Parser, parse_decimal};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use column::types::to_canonical;

use crate::infer::is_boolean;

/// A text that stands for a number, in errors.
const LONGEST_SHOWN: usize = 60;

/// Cells of one column, one after the other. What cannot be read leaves nothing behind, and its caller writes a null.
pub(crate) trait Cells: Send {
    /// A cell from its text.
    fn text(&mut self, text: &str) -> Result<(), String>;
    /// A cell from a number without a fraction.
    fn integer(&mut self, value: i128) -> Result<(), String> {
        self.text(&value.to_string())
    }
    /// A cell from a number.
    fn float(&mut self, value: f64) -> Result<(), String> {
        Err(format!("{value} is no {}", self.wanted()))
    }
    /// A cell from a truth value.
    fn boolean(&mut self, value: bool) -> Result<(), String> {
        Err(format!("{value} is no {}", self.wanted()))
    }
    fn null(&mut self);
    fn len(&self) -> usize;
    /// All cells, and none are left. What the texts as a whole did not become is told by row.
    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>);
    /// What it holds, for errors.
    fn wanted(&self) -> String;
}

/// A text as it is shown in an error.
pub(crate) fn shown(text: &str) -> String {
    let mut cut = text.chars();
    let start: String = cut.by_ref().take(LONGEST_SHOWN).collect();
    if cut.next().is_some() { format!("{start:?}… ({} bytes)", text.len()) } else { format!("{start:?}") }
}

/// Cells of a declared type, none if no text can become one.
pub(crate) fn cells(of: &DataType) -> Option<Box<dyn Cells>> {
    use DataType as D;
    fn parsed<T: Parser + Send>(
        declared: &DataType,
        of_integer: fn(i128) -> Option<T::Native>,
        of_float: fn(f64) -> Option<T::Native>,
    ) -> Option<Box<dyn Cells>> {
        let built = PrimitiveBuilder::<T>::new().with_data_type(declared.clone());
        Some(Box::new(Parsed { built, declared: declared.clone(), of_integer, of_float }))
    }
    fn whole<T: Parser + Send>(declared: &DataType) -> Option<Box<dyn Cells>>
    where
        T::Native: TryFrom<i128>,
    {
        parsed::<T>(declared, |value| T::Native::try_from(value).ok(), |_| None)
    }
    fn timed<T: Parser + Send>(declared: &DataType) -> Option<Box<dyn Cells>> {
        parsed::<T>(declared, |_| None, |_| None)
    }
    let near = |value: f64| {
        let near = value as f32;
        (near.is_finite() || !value.is_finite()).then_some(near)
    };
    match of {
        D::Boolean => Some(Box::new(Booleans(BooleanBuilder::new()))),
        D::Int8 => whole::<Int8Type>(of),
        D::Int16 => whole::<Int16Type>(of),
        D::Int32 => whole::<Int32Type>(of),
        D::Int64 => whole::<Int64Type>(of),
        D::UInt8 => whole::<UInt8Type>(of),
        D::UInt16 => whole::<UInt16Type>(of),
        D::UInt32 => whole::<UInt32Type>(of),
        D::UInt64 => whole::<UInt64Type>(of),
        D::Float32 => parsed::<Float32Type>(of, |value| Some(value as f32), near),
        D::Float64 => parsed::<Float64Type>(of, |value| Some(value as f64), Some),
        D::Date32 => timed::<Date32Type>(of),
        D::Time64(TimeUnit::Nanosecond) => timed::<Time64NanosecondType>(of),
        D::Timestamp(TimeUnit::Nanosecond, _) => timed::<TimestampNanosecondType>(of),
        D::Decimal128(precision, scale) => Some(Box::new(Decimals {
            built: PrimitiveBuilder::new().with_data_type(of.clone()),
            precision: *precision,
            scale: *scale,
        })),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => Some(Box::new(Texts(StringViewBuilder::new()))),
        D::Binary | D::LargeBinary | D::BinaryView => Some(Box::new(Bytes(BinaryViewBuilder::new()))),
        _ if !of.is_nested() && can_cast_types(&D::Utf8View, of) => {
            Some(Box::new(Cast { texts: StringViewBuilder::new(), declared: of.clone() }))
        }
        _ => None,
    }
}

/// Numbers and times, and what of a number in JSON becomes one.
struct Parsed<T: ArrowPrimitiveType> {
    built: PrimitiveBuilder<T>,
    declared: DataType,
    of_integer: fn(i128) -> Option<T::Native>,
    of_float: fn(f64) -> Option<T::Native>,
}

impl<T: Parser + Send> Parsed<T> {
    fn push(&mut self, value: Option<T::Native>, told: impl FnOnce() -> String) -> Result<(), String> {
        match value {
            Some(value) => self.built.append_value(value),
            None => return Err(format!("{} is no {}", told(), self.wanted())),
        }
        Ok(())
    }
}

impl<T: Parser + Send> Cells for Parsed<T> {
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.push(T::parse(text), || shown(text))
    }

    fn integer(&mut self, value: i128) -> Result<(), String> {
        self.push((self.of_integer)(value), || value.to_string())
    }

    fn float(&mut self, value: f64) -> Result<(), String> {
        self.push((self.of_float)(value), || value.to_string())
    }

    fn null(&mut self) {
        self.built.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.built)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        (Arc::new(self.built.finish()), Vec::new())
    }

    fn wanted(&self) -> String {
        formula::type_name(&self.declared)
    }
}

struct Decimals {
    built: PrimitiveBuilder<Decimal128Type>,
    precision: u8,
    scale: i8,
}

impl Cells for Decimals {
    fn text(&mut self, text: &str) -> Result<(), String> {
        let digits = text.split(['e', 'E']).next().unwrap_or_default();
        let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction).trim_end_matches('0');
        let exact = fraction.len() as i64 <= i64::from(self.scale).max(0) && digits.len() == text.len();
        let parsed = parse_decimal::<Decimal128Type>(text, self.precision, self.scale).ok().filter(|_| exact);
        self.built.append_value(parsed.ok_or_else(|| format!("{} is no {}", shown(text), self.wanted()))?);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), String> {
        self.text(&value.to_string())
    }

    fn null(&mut self) {
        self.built.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.built)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        (Arc::new(self.built.finish()), Vec::new())
    }

    fn wanted(&self) -> String {
        formula::type_name(&DataType::Decimal128(self.precision, self.scale))
    }
}

struct Booleans(BooleanBuilder);

impl Cells for Booleans {
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.0.append_value(is_boolean(text).ok_or_else(|| format!("{} is no Boolean", shown(text)))?);
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> Result<(), String> {
        self.0.append_value(value);
        Ok(())
    }

    fn null(&mut self) {
        self.0.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.0)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        (Arc::new(self.0.finish()), Vec::new())
    }

    fn wanted(&self) -> String {
        "Boolean".to_owned()
    }
}

struct Texts(StringViewBuilder);

impl Cells for Texts {
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.0.try_append_value(text).map_err(|error| error.to_string())
    }

    fn integer(&mut self, value: i128) -> Result<(), String> {
        Err(format!("{value} is no String"))
    }

    fn null(&mut self) {
        self.0.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.0)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        (Arc::new(self.0.finish()), Vec::new())
    }

    fn wanted(&self) -> String {
        "String".to_owned()
    }
}

struct Bytes(BinaryViewBuilder);

impl Cells for Bytes {
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.0.try_append_value(text.as_bytes()).map_err(|error| error.to_string())
    }

    fn integer(&mut self, value: i128) -> Result<(), String> {
        Err(format!("{value} is no Binary"))
    }

    fn null(&mut self) {
        self.0.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.0)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        (Arc::new(self.0.finish()), Vec::new())
    }

    fn wanted(&self) -> String {
        "Binary".to_owned()
    }
}

/// Types that are rare in files: the texts are cast together.
struct Cast {
    texts: StringViewBuilder,
    declared: DataType,
}

impl Cells for Cast {
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.texts.try_append_value(text).map_err(|error| error.to_string())
    }

    fn float(&mut self, value: f64) -> Result<(), String> {
        self.text(&value.to_string())
    }

    fn null(&mut self) {
        self.texts.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.texts)
    }

    fn finish(&mut self) -> (ArrayRef, Vec<(usize, String)>) {
        let texts = self.texts.finish();
        let safe = CastOptions { safe: true, ..CastOptions::default() };
        let made = cast_with_options(&texts, &self.declared, &safe).and_then(|made| {
            to_canonical(&made).map_err(|error| arrow_schema::ArrowError::CastError(error.to_string()))
        });
        let made = made
            .unwrap_or_else(|_| arrow_array::new_null_array(&column::types::canonical(&self.declared), texts.len()));
        let lost = (0..texts.len()).filter(|row| texts.is_valid(*row) && made.is_null(*row));
        let told = lost.map(|row| (row, format!("{} is no {}", shown(texts.value(row)), self.wanted()))).collect();
        (made, told)
    }

    fn wanted(&self) -> String {
        formula::type_name(&self.declared)
    }
}
