//! Where the fields of some records stand in a text, record by record: what CSV and JSON become before their cells are made,
//! column by column.

use crate::error::Error;

/// Bit of a field's start: what is in it is written otherwise than it is meant (a quote is doubled).
const ODD: u32 = 1 << 31;
/// The bits of a field's end in which its kind stands. Blocks are shorter.
const KIND: u32 = 30;
const PLACE: u32 = (1 << KIND) - 1;

/// What a field was written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text without quotes; an empty one is null.
    Plain = 0,
    /// A text in quotes.
    Quoted = 1,
    /// A number of JSON.
    Number = 2,
    /// `true`, `false` or `null` of JSON.
    Word = 3,
}

/// The fields of some records, each record with as many as there are columns.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// Where each record begins.
    pub(crate) starts: Vec<u32>,
    places: Vec<(u32, u32)>,
    pub(crate) width: usize,
}

impl Fields {
    pub(crate) fn new(width: usize) -> Fields {
        Fields { width, ..Fields::default() }
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// How many fields there are, with those of a record that is not at its end.
    pub(crate) fn many(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.places.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, start: usize, end: usize, kind: Kind, odd: bool) {
        let odd = if odd { ODD } else { 0 };
        self.places.push((start as u32 | odd, end as u32 | (kind as u32) << KIND));
    }

    /// Adds plain fields, by where they begin and end.
    #[inline]
    pub(crate) fn extend(&mut self, plain: &[(u32, u32)]) {
        self.places.extend_from_slice(plain);
    }

    /// Sets a field of a record that was filled with empty ones.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, start: usize, end: usize, kind: Kind) {
        self.places[at] = (start as u32, end as u32 | (kind as u32) << KIND);
    }

    /// Whether a field is that of [`Fields::fill`].
    #[inline]
    pub(crate) fn is_empty_at(&self, at: usize) -> bool {
        self.places[at] == (0, 0)
    }

    /// Where a field begins.
    pub(crate) fn start(&self, row: usize, column: usize) -> usize {
        self.at(row, column).0
    }

    /// As many fields as that, those that are not there empty.
    pub(crate) fn fill(&mut self, many: usize, place: usize) {
        self.places.resize(many, (place as u32, place as u32));
    }

    pub(crate) fn truncate(&mut self, many: usize) {
        self.places.truncate(many);
    }

    /// The place, the kind, and whether it is written otherwise than it is meant.
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> (usize, usize, u32, bool) {
        let (start, end) = self.places[row * self.width + column];
        ((start & PLACE) as usize, (end & PLACE) as usize, end >> KIND, start & ODD != 0)
    }
}

/// A field for a cell.
pub(crate) enum Raw<'a> {
    Null,
    Text(&'a str),
    Number(&'a str),
    Boolean(bool),
    /// What takes a longer look: [`Column::odd`].
    Odd,
}

/// The fields of a column.
pub(crate) struct Column<'a> {
    pub(crate) fields: &'a Fields,
    pub(crate) text: &'a [u8],
    /// The text from one of its bytes on, if all the fields are UTF-8.
    pub(crate) sound: Option<(usize, &'a str)>,
    pub(crate) column: usize,
    /// Fields that are null, quoted or not.
    pub(crate) nulls: &'a [String],
    pub(crate) quote: Option<u8>,
}

impl<'a> Column<'a> {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    #[inline(always)]
    pub(crate) fn raw(&self, row: usize) -> Raw<'a> {
        let (start, end, kind, odd) = self.fields.at(row, self.column);
        if start == end && kind == Kind::Plain as u32 {
            return Raw::Null;
        }
        if !self.nulls.is_empty() && self.is_null(&self.text[start..end]) {
            return Raw::Null;
        }
        let text = match self.sound {
            Some((from, text)) if !odd => text.get(start - from..end - from),
            _ => None,
        };
        match text {
            None => Raw::Odd,
            Some(text) if kind < Kind::Number as u32 => Raw::Text(text),
            Some(text) if kind == Kind::Number as u32 => Raw::Number(text),
            Some(text) => match text.as_bytes().first() {
                Some(b't') => Raw::Boolean(true),
                Some(b'f') => Raw::Boolean(false),
                _ => Raw::Null,
            },
        }
    }

    #[cold]
    fn is_null(&self, field: &[u8]) -> bool {
        self.nulls.iter().any(|null| null.as_bytes() == field)
    }

    /// The text of a field that is not as it stands, or may be no UTF-8.
    #[cold]
    pub(crate) fn odd(&self, row: usize) -> Result<String, String> {
        self.bytes(row).map_err(|at| format!("no UTF-8 at byte {at} of the field"))
    }

    fn bytes(&self, row: usize) -> Result<String, usize> {
        let (start, end, _, odd) = self.fields.at(row, self.column);
        let bytes = unescaped(&self.text[start..end], self.quote.filter(|_| odd));
        String::from_utf8(bytes).map_err(|error| error.utf8_error().valid_up_to())
    }

    /// The name that the field of a header gives.
    pub(crate) fn name(&self, row: usize, path: &str, line: u64) -> Result<String, Error> {
        self.bytes(row).map_err(|_| Error::Record {
            path: path.to_owned(),
            line,
            name: None,
            message: format!("the name of column {} is no UTF-8", self.column + 1),
        })
    }
}

/// What stands between quotes: a quote in it is doubled.
fn unescaped(field: &[u8], quote: Option<u8>) -> Vec<u8> {
    let Some(quote) = quote else { return field.to_vec() };
    let mut out = Vec::with_capacity(field.len());
    let mut second = false;
    for byte in field {
        second = *byte == quote && !second;
        if !second {
            out.push(*byte);
        }
    }
    out
}
