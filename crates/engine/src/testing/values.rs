//! Random cells: of every type, in the styles in which data comes.

use arrow_schema::{DataType, TimeUnit};

use super::plain::Cell;
use super::tape::Tape;

/// How the cells of a column are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A handful of values, the small ones often.
    Skewed,
    /// No two alike.
    Unique,
    /// One value.
    Constant,
    /// Never falling, in order of creation.
    Sorted,
    /// Mostly null.
    NullHeavy,
    /// The ends of the type and what is odd in it.
    Pool,
}

/// All styles, the plainest first.
pub const STYLES: [Style; 6] =
    [Style::Skewed, Style::Unique, Style::Constant, Style::Sorted, Style::NullHeavy, Style::Pool];

/// Draws the cells of one column.
#[derive(Clone, Debug)]
pub struct Values {
    data_type: DataType,
    style: Style,
    made: u64,
}

impl Values {
    /// Cells of this type in this style.
    pub fn new(data_type: &DataType, style: Style) -> Values {
        Values { data_type: data_type.clone(), style, made: 0 }
    }

    /// The next cell.
    pub fn draw(&mut self, tape: &mut Tape) -> Cell {
        self.made += 1;
        match self.style {
            Style::Skewed => {
                if tape.chance(16) {
                    return Cell::Null;
                }
                let reach = *tape.choose(&[2, 4, 8]);
                small(&self.data_type, tape.below(reach))
            }
            Style::Unique => small(&self.data_type, 100 + self.made),
            Style::Constant => small(&self.data_type, 1),
            Style::Sorted => small(&self.data_type, 10 + self.made / 2),
            Style::NullHeavy if tape.chance(60) => small(&self.data_type, tape.below(4)),
            Style::NullHeavy => Cell::Null,
            Style::Pool => {
                let pool = pool(&self.data_type);
                tape.choose(&pool).clone()
            }
        }
    }
}

/// The cell of a small number, in the same order as the numbers.
pub fn small(data_type: &DataType, n: u64) -> Cell {
    let signed = n as i64;
    match data_type {
        DataType::Boolean => Cell::Bool(n % 2 == 1),
        DataType::Int8 => Cell::Int(signed % 128),
        DataType::Int16 | DataType::Int32 | DataType::Int64 => Cell::Int(signed),
        DataType::UInt8 => Cell::UInt(n % 256),
        DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Cell::UInt(n),
        DataType::Float16 | DataType::Float32 => Cell::Float32(n as f32 / 2.0),
        DataType::Float64 => Cell::Float(n as f64 * 0.1),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Cell::Str(word(n)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Cell::Bytes(word(n).into_bytes()),
        DataType::Date32 => Cell::Date(signed as i32),
        DataType::Time64(_) => Cell::Time(signed * 1_000_000_000),
        DataType::Timestamp(..) => Cell::Timestamp(signed * 1_000_000_000),
        DataType::Duration(_) => Cell::Duration(signed * 1_000_000_000),
        DataType::Decimal128(_, scale) => Cell::Decimal(i128::from(n), *scale),
        DataType::FixedSizeBinary(width) => Cell::Bytes(format!("{n:0width$}", width = *width as usize).into_bytes()),
        DataType::Dictionary(_, values) => small(values, n),
        DataType::List(item) => Cell::List(vec![small(item.data_type(), n); 1 + n as usize % 3]),
        DataType::Struct(fields) => Cell::List(fields.iter().map(|field| small(field.data_type(), n)).collect()),
        other => panic!("tests make no cell of {other}"),
    }
}

/// Short and long words in turn, because the long ones lie outside of their views.
fn word(n: u64) -> String {
    if n.is_multiple_of(2) { format!("w{n:04}") } else { format!("w{n:04} is a longer word than fits") }
}

/// The ends of a type and what is odd in it.
pub fn pool(data_type: &DataType) -> Vec<Cell> {
    let text = ["", "a", "A", " ", "é", "日本語", "🙂", "\0", "twelve bytes", "thirteen byte", "null"];
    let mut pool = match data_type {
        DataType::Boolean => vec![Cell::Bool(false), Cell::Bool(true)],
        DataType::Int8 => [0, 1, -1, -128, 127].map(Cell::Int).to_vec(),
        DataType::Int16 => [0, -1, -32_768, 32_767].map(Cell::Int).to_vec(),
        DataType::Int32 => [0, -1, i64::from(i32::MIN), i64::from(i32::MAX)].map(Cell::Int).to_vec(),
        DataType::Int64 => [0, 1, -1, i64::MIN, i64::MAX, i64::MIN + 1, 1 << 53, (1 << 53) + 1].map(Cell::Int).to_vec(),
        DataType::UInt8 => [0, 1, 255].map(Cell::UInt).to_vec(),
        DataType::UInt16 => [0, 1, 65_535].map(Cell::UInt).to_vec(),
        DataType::UInt32 => [0, 1, u64::from(u32::MAX)].map(Cell::UInt).to_vec(),
        DataType::UInt64 => [0, 1, u64::MAX, 1 << 63].map(Cell::UInt).to_vec(),
        DataType::Float16 => [0.0, -0.0, 1.0, f32::NAN, f32::INFINITY].map(Cell::Float32).to_vec(),
        DataType::Float32 => [
            0.0,
            -0.0,
            1.5,
            f32::NAN,
            -f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN,
            f32::MAX,
            f32::MIN_POSITIVE,
        ]
        .map(Cell::Float32)
        .to_vec(),
        DataType::Float64 => [
            0.0,
            -0.0,
            1.5,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN,
            f64::MAX,
            5e-324,
            1e16,
            -1e16,
        ]
        .map(Cell::Float)
        .to_vec(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => text.map(|word| Cell::Str(word.into())).to_vec(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            text.map(|word| Cell::Bytes(word.as_bytes().to_vec())).to_vec()
        }
        DataType::Date32 => [0, -1, i32::MIN, i32::MAX, 15_705].map(Cell::Date).to_vec(),
        DataType::Time64(_) => [0, 86_399_999_999_999].map(Cell::Time).to_vec(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            [0, -1_000_000, 1_356_998_400_000_000_000].map(Cell::Timestamp).to_vec()
        }
        DataType::Timestamp(..) => [0, -1, i64::MIN, i64::MAX, 1_356_998_400_000_000_000].map(Cell::Timestamp).to_vec(),
        DataType::Duration(_) => [0, -1, 1, 3_600_000_000_000].map(Cell::Duration).to_vec(),
        DataType::Decimal128(_, scale) => [0, -1, 1, 99_999].map(|x| Cell::Decimal(x, *scale)).to_vec(),
        DataType::FixedSizeBinary(width) => [0, 1, 255].map(|byte| Cell::Bytes(vec![byte; *width as usize])).to_vec(),
        DataType::Dictionary(_, values) => return pool(values),
        DataType::List(item) => {
            let cells = pool(item.data_type());
            let lists =
                cells.iter().enumerate().map(|(at, _)| Cell::List(cells[at..(at + 2).min(cells.len())].to_vec()));
            std::iter::once(Cell::List(Vec::new())).chain(lists).collect()
        }
        DataType::Struct(fields) => {
            let pools: Vec<Vec<Cell>> = fields.iter().map(|field| pool(field.data_type())).collect();
            let row = |at: usize| pools.iter().map(|pool| pool[at % pool.len()].clone()).collect();
            (0..6).map(|at| Cell::List(row(at))).collect()
        }
        other => panic!("tests make no cell of {other}"),
    };
    pool.push(Cell::Null);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plain::{array_of, cells_of};

    #[test]
    fn every_style_of_every_type_fits_its_column() {
        let types = crate::testing::random::KINDS.map(crate::testing::random::type_of);
        for data_type in types {
            for style in STYLES {
                let (mut tape, mut values) = (Tape::seeded(5), Values::new(&data_type, style));
                let cells: Vec<Cell> = (0..200).map(|_| values.draw(&mut tape)).collect();
                let back = cells_of(&array_of(&data_type, &cells));
                assert!(back.iter().zip(&cells).all(|(a, b)| a.same(b)), "{data_type} {style:?}");
            }
        }
    }

    #[test]
    fn styles_keep_their_promise() {
        let draw = |style| {
            let (mut tape, mut values) = (Tape::seeded(5), Values::new(&DataType::Int64, style));
            (0..100).map(|_| values.draw(&mut tape)).collect::<Vec<Cell>>()
        };
        let ints =
            |style| draw(style).into_iter().filter_map(|cell| if let Cell::Int(x) = cell { Some(x) } else { None });
        assert_eq!(ints(Style::Unique).collect::<std::collections::BTreeSet<_>>().len(), 100);
        assert!(ints(Style::Sorted).is_sorted() && ints(Style::Constant).all(|x| x == 1));
        assert!(draw(Style::NullHeavy).iter().filter(|cell| matches!(cell, Cell::Null)).count() > 50);
        assert!(ints(Style::Pool).any(|x| x == i64::MIN));
    }
}
