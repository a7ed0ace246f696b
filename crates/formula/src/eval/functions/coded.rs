//! Bytes as text: in hexadecimal digits or in base 64, and back.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_schema::DataType;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::bytes::Cells;
use super::declared::{FunctionSpec, Takes, method};
use super::text::Strings;
use crate::eval::node::{Argument, Failure, Whole};
use crate::tree::family::Family;
use crate::tree::function::{Bytes, Function, Text};

const OF_TEXT: Takes = (2, 2, "a string and an encoding");
const OF_BYTES: Takes = (2, 2, "bytes and an encoding");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::Encode), "str.encode", OF_TEXT, |b, c| {
        b.coded(c, false, |encoding| (encode(encoding, text), DataType::Utf8View))
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.encode("hex")"#),
    method(Function::Text(Text::Decode { strict: true }), "str.decode", OF_TEXT, |b, c| {
        b.coded(c, false, |encoding| (decode(encoding, text, c.flag("strict")), DataType::BinaryView))
    })
    .always(Family::Other)
    .shown_by(r#"tf.lit("dGV4dA==").str.decode("base64")"#),
    method(Function::Bytes(Bytes::Encode), "bin.encode", OF_BYTES, |b, c| {
        b.coded(c, true, |encoding| (encode(encoding, bytes), DataType::Utf8View))
    })
    .always(Family::Text)
    .shown_by(r#"col("y").bin.encode("base64")"#),
    method(Function::Bytes(Bytes::Decode { strict: true }), "bin.decode", OF_BYTES, |b, c| {
        b.coded(c, true, |encoding| (decode(encoding, bytes, c.flag("strict")), DataType::BinaryView))
    })
    .always(Family::Other)
    .shown_by(r#"tf.lit(b"0aff").bin.decode("hex")"#),
];

/// How bytes are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    Hex,
    Base64,
}

impl Encoding {
    pub(crate) fn named(name: &str) -> Option<Encoding> {
        match name {
            "hex" => Some(Encoding::Hex),
            "base64" => Some(Encoding::Base64),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::Hex => "hex",
            Encoding::Base64 => "base64",
        }
    }
}

/// The cell of a row as bytes.
type Read = for<'a> fn(&'a Argument, usize) -> Option<&'a [u8]>;

fn text(argument: &Argument, row: usize) -> Option<&[u8]> {
    Strings::of(argument).get(row).map(str::as_bytes)
}

fn bytes(argument: &Argument, row: usize) -> Option<&[u8]> {
    Cells(argument).get(row)
}

/// The longest text that a cell may hold.
const LONGEST: usize = i32::MAX as usize;

fn encode(encoding: Encoding, read: Read) -> Whole {
    Arc::new(move |args, rows| {
        let mut made = StringViewBuilder::with_capacity(rows);
        let mut written = String::new();
        for row in 0..rows {
            let Some(cell) = read(&args[0], row) else {
                made.append_null();
                continue;
            };
            if cell.len() > LONGEST / 2 {
                let message = format!("{} bytes are too many to be written as {}", cell.len(), encoding.name());
                return Err(Failure { row, payload: None, message });
            }
            written.clear();
            match encoding {
                Encoding::Hex => cell.iter().for_each(|byte| {
                    written.push(digit(byte >> 4));
                    written.push(digit(byte & 15));
                }),
                Encoding::Base64 => STANDARD.encode_string(cell, &mut written),
            }
            made.append_value(&written);
        }
        Ok(Arc::new(made.finish()) as ArrayRef)
    })
}

fn digit(four_bits: u8) -> char {
    char::from_digit(u32::from(four_bits), 16).expect("four bits are a digit")
}

fn decode(encoding: Encoding, read: Read, strict: bool) -> Whole {
    Arc::new(move |args, rows| {
        let mut made = BinaryViewBuilder::with_capacity(rows);
        let mut decoded = Vec::new();
        for row in 0..rows {
            let Some(cell) = read(&args[0], row) else {
                made.append_null();
                continue;
            };
            decoded.clear();
            let sound = match encoding {
                Encoding::Hex => of_digits(cell, &mut decoded).is_some(),
                Encoding::Base64 => STANDARD.decode_vec(cell, &mut decoded).is_ok(),
            };
            match sound {
                true => made.append_value(&decoded),
                false if !strict => made.append_null(),
                false => {
                    let message = format!("the cell is no {}; use strict=False for null instead", encoding.name());
                    return Err(Failure { row, payload: None, message });
                }
            }
        }
        Ok(Arc::new(made.finish()) as ArrayRef)
    })
}

/// Two digits a byte, capital or small.
fn of_digits(digits: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    for pair in pairs {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        decoded.push((high? << 4 | low?) as u8);
    }
    Some(())
}
