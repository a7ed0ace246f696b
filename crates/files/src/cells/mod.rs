//! Cells of one column from texts and from values of JSON.

mod quick;

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, GenericByteViewBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_cast::parse::parse_decimal;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use column::types::to_canonical;

use self::quick::Quick;
use crate::fields::{Column, Raw};
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
    /// A cell from a number as it stands in JSON.
    fn number(&mut self, text: &str) -> Result<(), String> {
        if let Ok(value) = text.parse::<i64>() {
            return self.integer(i128::from(value));
        }
        match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(value), _) => self.integer(i128::from(value)),
            (_, Ok(value)) if value.is_finite() => self.float(value),
            _ => Err(format!("{text} is no {}", self.wanted())),
        }
    }
    fn null(&mut self);
    fn len(&self) -> usize;
    /// A cell from each field, null where there is none; what could not be read is null, and told by row.
    fn take(&mut self, of: &Column, wrong: &mut Vec<(usize, String)>) {
        for row in 0..of.len() {
            let said = match of.raw(row) {
                Raw::Null => {
                    self.null();
                    continue;
                }
                Raw::Text(text) => self.text(text),
                Raw::Number(text) => self.number(text),
                Raw::Boolean(value) => self.boolean(value),
                Raw::Odd => of.odd(row).and_then(|text| self.text(&text)),
            };
            if let Err(message) = said {
                self.null();
                wrong.push((row, message));
            }
        }
    }
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
    cells_of(of, false, 0)
}

/// As [`cells`], with room for so many; with `any` a column of texts takes numbers and truth values, as they are written.
pub(crate) fn cells_of(of: &DataType, any: bool, room: usize) -> Option<Box<dyn Cells>> {
    use DataType as D;
    fn parsed<T: Quick + Send>(
        declared: &DataType,
        room: usize,
        of_integer: fn(i128) -> Option<T::Native>,
        of_float: fn(f64) -> Option<T::Native>,
    ) -> Option<Box<dyn Cells>> {
        let built = PrimitiveBuilder::<T>::with_capacity(room).with_data_type(declared.clone());
        Some(Box::new(Parsed { built, declared: declared.clone(), of_integer, of_float }))
    }
    fn whole<T: Quick + Send>(declared: &DataType, room: usize) -> Option<Box<dyn Cells>>
    where
        T::Native: TryFrom<i128>,
    {
        parsed::<T>(declared, room, |value| T::Native::try_from(value).ok(), |_| None)
    }
    fn timed<T: Quick + Send>(declared: &DataType, room: usize) -> Option<Box<dyn Cells>> {
        parsed::<T>(declared, room, |_| None, |_| None)
    }
    let near = |value: f64| {
        let near = value as f32;
        (near.is_finite() || !value.is_finite()).then_some(near)
    };
    match of {
        D::Boolean => Some(Box::new(Booleans(BooleanBuilder::with_capacity(room)))),
        D::Int8 => whole::<Int8Type>(of, room),
        D::Int16 => whole::<Int16Type>(of, room),
        D::Int32 => whole::<Int32Type>(of, room),
        D::Int64 => whole::<Int64Type>(of, room),
        D::UInt8 => whole::<UInt8Type>(of, room),
        D::UInt16 => whole::<UInt16Type>(of, room),
        D::UInt32 => whole::<UInt32Type>(of, room),
        D::UInt64 => whole::<UInt64Type>(of, room),
        D::Float32 => parsed::<Float32Type>(of, room, |value| Some(value as f32), near),
        D::Float64 => parsed::<Float64Type>(of, room, |value| Some(value as f64), Some),
        D::Date32 => timed::<Date32Type>(of, room),
        D::Time64(TimeUnit::Nanosecond) => timed::<Time64NanosecondType>(of, room),
        D::Timestamp(TimeUnit::Nanosecond, _) => timed::<TimestampNanosecondType>(of, room),
        D::Decimal128(precision, scale) => Some(Box::new(Decimals {
            built: PrimitiveBuilder::new().with_data_type(of.clone()),
            precision: *precision,
            scale: *scale,
        })),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => {
            Some(Box::new(Views::<StringViewType> { built: GenericByteViewBuilder::with_capacity(room), any }))
        }
        D::Binary | D::LargeBinary | D::BinaryView => {
            Some(Box::new(Views::<BinaryViewType> { built: GenericByteViewBuilder::with_capacity(room), any: false }))
        }
        _ if !of.is_nested() && can_cast_types(&D::Utf8View, of) => {
            Some(Box::new(Cast { texts: StringViewBuilder::with_capacity(room), declared: of.clone() }))
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

impl<T: Quick + Send> Parsed<T> {
    fn push(&mut self, value: Option<T::Native>, told: impl FnOnce() -> String) -> Result<(), String> {
        match value {
            Some(value) => self.built.append_value(value),
            None => return Err(format!("{} is no {}", told(), self.wanted())),
        }
        Ok(())
    }
}

impl<T: Quick + Send> Cells for Parsed<T> {
    #[inline]
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.push(T::quick(text.as_bytes()).or_else(|| T::parse(text)), || shown(text))
    }

    #[inline]
    fn number(&mut self, text: &str) -> Result<(), String> {
        if let Some(value) = T::quick(text.as_bytes()) {
            self.built.append_value(value);
            return Ok(());
        }
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && let Ok(value) = text.parse::<i128>()
        {
            return self.integer(value);
        }
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| format!("{text} is no {}", self.wanted()))?;
        // Rounded once: a float of fewer bits is not made of one of more.
        let near = (self.of_float)(value).map(|near| T::parse(text).unwrap_or(near));
        self.push(near, || text.to_owned())
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

    fn number(&mut self, text: &str) -> Result<(), String> {
        if text.contains(['e', 'E']) {
            return self.float(text.parse().map_err(|_| format!("{text} is no {}", self.wanted()))?);
        }
        // Its digits are read, and not those of the nearest float.
        self.text(text)
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

/// Texts, or bytes.
struct Views<T: ByteViewType + ?Sized> {
    built: GenericByteViewBuilder<T>,
    /// Whether what is no text is one, as it is written.
    any: bool,
}

impl<T: ByteViewType + ?Sized> Views<T> {
    #[inline]
    fn push(&mut self, text: &str) -> Result<(), String>
    where
        str: AsRef<T::Native>,
    {
        self.built.try_append_value(text).map_err(|error| error.to_string())
    }
}

impl<T: ByteViewType + ?Sized> Cells for Views<T>
where
    str: AsRef<T::Native>,
{
    #[inline]
    fn text(&mut self, text: &str) -> Result<(), String> {
        self.push(text)
    }

    fn integer(&mut self, value: i128) -> Result<(), String> {
        Err(format!("{value} is no {}", self.wanted()))
    }

    fn number(&mut self, text: &str) -> Result<(), String> {
        if self.any { self.push(text) } else { Err(format!("{text} is no {}", self.wanted())) }
    }

    fn boolean(&mut self, value: bool) -> Result<(), String> {
        if self.any { self.push(&value.to_string()) } else { Err(format!("{value} is no {}", self.wanted())) }
    }

    #[inline]
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
        formula::type_name(&T::DATA_TYPE)
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
