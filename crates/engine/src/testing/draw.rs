//! Drawings: tables and steps as a line of text, and back.
//!
//!   table   "K:str V:int: 0 A 1 | 1 B 2"      types by name; without a header K V W X Y Z, by their looks
//!   step    "- 1 | > [2..5]-1 | + 7 C 3 | ~ 2 . 9"
//!
//! `-` removed (a key, or a range `[2..5]`, before the shifts), `>` shifted (`[first..last]±delta`),
//! `+` added and `~` modified (keys after the shifts). A dot is a cell whose column is not modified.
//! `null`, `NaN`, `inf` and `-inf` are what they say; text with odd letters stands in quotes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use rowset::RowSet;

use super::mirror::{Mirror, RawStep};
use super::plain::{Cell, array_of, cells_of};
use super::random::{KINDS, type_of};

/// The table that a drawing shows.
pub fn table(drawing: &str) -> Mirror {
    let (header, body) = split_header(drawing);
    let lines: Vec<Vec<String>> = parts(body).map(words).collect();
    let schema = header.map_or_else(|| guessed(&lines), declared);
    let mut mirror = Mirror::new(schema.clone());
    for line in lines {
        let (key, cells) = line.split_first().expect("a row has a key");
        assert_eq!(cells.len(), schema.fields().len(), "a cell for each column in {line:?}");
        let row = cells.iter().zip(schema.fields()).map(|(word, field)| cell(word, field.data_type())).collect();
        assert!(mirror.rows.insert(number(key), row).is_none(), "the key {key} stands twice");
    }
    mirror
}

/// The drawing of a table, header and all.
pub fn draw_table(mirror: &Mirror) -> String {
    let fields = mirror.schema.fields().iter();
    let header: Vec<String> = fields.map(|field| format!("{}:{}", field.name(), kind_of(field.data_type()))).collect();
    let rows = mirror.rows.iter().map(|(key, row)| line("", *key, row.iter().map(Cell::to_string)));
    format!("{}: {}", header.join(" "), rows.collect::<Vec<_>>().join(" | ")).trim_end().to_owned()
}

/// The step that a drawing shows, for a table of these columns. Columns of which any modified row
/// shows a cell are modified; every modified row must show those.
pub fn step(drawing: &str, schema: &Arc<Schema>) -> RawStep {
    let mut removed = RowSet::new();
    let mut shifts = Vec::new();
    let mut added: BTreeMap<u64, Vec<Cell>> = BTreeMap::new();
    let mut modified: BTreeMap<u64, Vec<Option<Cell>>> = BTreeMap::new();
    for part in parts(drawing) {
        let words = words(part);
        let (mark, rest) = words.split_first().expect("a part has a mark");
        let cells = |words: &[String]| -> Vec<Option<Cell>> {
            assert_eq!(words.len(), schema.fields().len(), "a cell for each column in {part:?}");
            let fields = schema.fields().iter();
            words.iter().zip(fields).map(|(word, field)| (word != ".").then(|| cell(word, field.data_type()))).collect()
        };
        match mark.as_str() {
            "-" => rest.iter().for_each(|keys| removed |= &range(keys)),
            ">" => shifts.extend(rest.iter().map(|shift| parse_shift(shift))),
            "+" => {
                let row = cells(&rest[1..]).into_iter().map(|cell| cell.expect("an added row has all its cells"));
                added.insert(number(&rest[0]), row.collect());
            }
            "~" => _ = modified.insert(number(&rest[0]), cells(&rest[1..])),
            other => panic!("a part of a step begins with + - ~ or >, not {other:?}"),
        }
    }
    let columns = (0..schema.fields().len()).filter(|&at| modified.values().any(|row| row[at].is_some()));
    let modified_cells = |at: usize| {
        let shown = |row: &Vec<Option<Cell>>| row[at].clone().expect("every modified row shows the same columns");
        array_of(schema.field(at).data_type(), &modified.values().map(shown).collect::<Vec<_>>())
    };
    let added_cells = |at: usize| {
        array_of(schema.field(at).data_type(), &added.values().map(|row| row[at].clone()).collect::<Vec<_>>())
    };
    RawStep {
        removed,
        shifts,
        added: (keys(&added), (0..schema.fields().len()).map(added_cells).collect()),
        keyed: None,
        modified: (keys(&modified), columns.map(|at| (at, modified_cells(at))).collect()),
    }
}

/// The drawing of a step: removed, shifted, added, modified. Nothing is the empty text.
pub fn draw_step(step: &RawStep, schema: &Arc<Schema>) -> String {
    let width = schema.fields().len();
    let mut drawn: Vec<String> = Vec::new();
    for span in step.removed.spans() {
        drawn.push(if span.first == span.last {
            format!("- {}", span.first)
        } else {
            format!("- [{}..{}]", span.first, span.last)
        });
    }
    drawn.extend(step.shifts.iter().map(|(first, last, delta)| format!("> [{first}..{last}]{delta:+}")));
    let columns: Vec<Vec<Cell>> = step.added.1.iter().map(cells_of).collect();
    for (at, key) in step.added.0.iter().enumerate() {
        drawn.push(line("+ ", key, columns.iter().map(|cells| cells[at].to_string())));
    }
    let columns: BTreeMap<usize, Vec<Cell>> =
        step.modified.1.iter().map(|(at, array)| (*at, cells_of(array))).collect();
    for (at, key) in step.modified.0.iter().enumerate() {
        let cells = (0..width).map(|column| columns.get(&column).map_or(".".to_owned(), |cells| cells[at].to_string()));
        drawn.push(line("~ ", key, cells));
    }
    drawn.join(" | ")
}

fn line(mark: &str, key: u64, cells: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = std::iter::once(format!("{mark}{key}")).chain(cells).collect();
    words.join(" ")
}

fn keys<T>(rows: &BTreeMap<u64, T>) -> RowSet {
    RowSet::from_sorted_keys(&rows.keys().copied().collect::<Vec<_>>())
}

/// A header ends with a colon and a blank (or the end); names and types are joined by a bare colon.
fn split_header(drawing: &str) -> (Option<&str>, &str) {
    if let Some(header) = drawing.trim_end().strip_suffix(':') {
        return (Some(header), "");
    }
    match drawing.split_once(": ") {
        Some((header, body)) if !header.contains('"') => (Some(header), body),
        _ => (None, drawing),
    }
}

fn declared(header: &str) -> Arc<Schema> {
    let fields = header.split_whitespace().map(|word| {
        let (name, kind) = word.split_once(':').unwrap_or((word, "int"));
        Field::new(name, type_of(kind), true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn guessed(lines: &[Vec<String>]) -> Arc<Schema> {
    let width = lines.first().map_or(0, |line| line.len() - 1);
    let looks = |at: usize| {
        let mut known = lines.iter().map(|line| line[at + 1].as_str()).filter(|word| *word != "null");
        let all = |holds: fn(&str) -> bool| known.clone().all(holds);
        if all(|word| word.parse::<i64>().is_ok()) {
            DataType::Int64
        } else if all(|word| word.parse::<f64>().is_ok()) {
            DataType::Float64
        } else if known.all(|word| word == "true" || word == "false") {
            DataType::Boolean
        } else {
            DataType::Utf8
        }
    };
    let name = |at: usize| ["K", "V", "W", "X", "Y", "Z"].get(at).expect("six columns have names of their own");
    Arc::new(Schema::new((0..width).map(|at| Field::new(*name(at), looks(at), true)).collect::<Vec<_>>()))
}

fn kind_of(data_type: &DataType) -> &'static str {
    // Operations answer text as views; a drawing does not tell them apart.
    let wanted = match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => &DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => &DataType::Binary,
        other => other,
    };
    KINDS.into_iter().find(|kind| type_of(kind) == *wanted).unwrap_or("other")
}

/// The parts between bars; a bar inside quotes is text.
fn parts(drawing: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    let split = drawing.split(move |letter| {
        let ends = letter == '|' && !quoted;
        if letter == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = letter == '\\' && !escaped;
        ends
    });
    split.map(str::trim).filter(|part| !part.is_empty())
}

fn words(part: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = part.trim();
    while !rest.is_empty() {
        let end = end_of_word(rest);
        let (word, tail) = rest.split_at(end);
        found.push(word.to_owned());
        rest = tail.trim_start();
    }
    found
}

/// Where a word ends: at a blank that stands in no quotes and no brackets.
fn end_of_word(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(letter) = text[at..].chars().next() {
        match letter {
            '"' => at += end_of_quote(&text[at..]) - 1,
            '[' => depth += 1,
            ']' => depth -= 1,
            ' ' if depth == 0 => return at,
            _ => {}
        }
        at += letter.len_utf8();
    }
    at
}

/// The cells within brackets.
fn listed(word: &str) -> Vec<&str> {
    let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    let mut rest = inner.unwrap_or_else(|| panic!("{word:?} is no list"));
    let mut found = Vec::new();
    while !rest.is_empty() {
        let end = if rest.starts_with('"') { end_of_quote(rest) } else { rest.find(',').unwrap_or(rest.len()) };
        found.push(&rest[..end]);
        rest = rest[end..].strip_prefix(',').unwrap_or_default();
    }
    found
}

fn end_of_quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    panic!("a quote stays open in {text:?}")
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word:?} is no row key"))
}

fn range(word: &str) -> RowSet {
    match word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).and_then(|word| word.split_once("..")) {
        Some((first, last)) => RowSet::range(number(first), number(last)),
        None => RowSet::key(number(word)),
    }
}

fn parse_shift(word: &str) -> (u64, u64, i64) {
    let (keys, delta) = word.split_at(word.find(']').expect("a shift has a range") + 1);
    let rows = range(keys);
    let delta = delta.parse().unwrap_or_else(|_| panic!("{delta:?} is no delta"));
    (rows.first().expect("a range has keys"), rows.last().expect("a range has keys"), delta)
}

fn cell(word: &str, data_type: &DataType) -> Cell {
    if word == "null" {
        return Cell::Null;
    }
    let wrong = || -> ! { panic!("{word:?} is no cell of {data_type}") };
    let whole = || word.parse::<i64>().unwrap_or_else(|_| wrong());
    match data_type {
        DataType::Boolean => Cell::Bool(word.parse().unwrap_or_else(|_| wrong())),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Cell::Int(whole()),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            Cell::UInt(word.parse().unwrap_or_else(|_| wrong()))
        }
        DataType::Float16 | DataType::Float32 => Cell::Float32(word.parse().unwrap_or_else(|_| wrong())),
        DataType::Float64 => Cell::Float(word.parse().unwrap_or_else(|_| wrong())),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Cell::Str(unquoted(word)),
        DataType::Date32 => Cell::Date(word.parse().unwrap_or_else(|_| wrong())),
        DataType::Time64(_) => Cell::Time(whole()),
        DataType::Timestamp(..) => Cell::Timestamp(whole()),
        DataType::Duration(_) => Cell::Duration(whole()),
        DataType::Decimal128(_, scale) => Cell::Decimal(word.parse().unwrap_or_else(|_| wrong()), *scale),
        DataType::Dictionary(_, values) => cell(word, values),
        DataType::List(item) => Cell::List(listed(word).into_iter().map(|word| cell(word, item.data_type())).collect()),
        DataType::Struct(fields) => {
            let cells = listed(word).into_iter().zip(fields);
            Cell::List(cells.map(|(word, field)| cell(word, field.data_type())).collect())
        }
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let digits = word.strip_prefix("0x").unwrap_or_else(|| wrong());
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or_else(|_| wrong());
            Cell::Bytes((0..digits.len()).step_by(2).map(byte).collect())
        }
        _ => wrong(),
    }
}

/// The text of a word in quotes, as Rust's own `{:?}` wrote it.
fn unquoted(word: &str) -> String {
    let Some(inner) = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')) else {
        return word.to_owned();
    };
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next().expect("something is escaped") {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            'u' => {
                let code: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                let code = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                text.push(code.expect("a code of a letter"));
            }
            other => text.push(other),
        }
    }
    text
}

/// A drawing in which `@n` stands for the row key `n` slots above the first of a small table that an order keeps.
pub fn in_order(text: &str) -> String {
    let mut drawn = String::new();
    for (place, part) in text.split('@').enumerate() {
        if place == 0 {
            drawn.push_str(part);
            continue;
        }
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let slot: u64 = part[..end].parse().expect("a number follows");
        drawn.push_str(&((1 << 62) + slot).to_string());
        drawn.push_str(&part[end..]);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::{Case, any_table, table_of};
    use crate::testing::tape::Tape;

    #[test]
    fn a_bare_drawing_names_and_types_its_columns_itself() {
        let mirror = table("0 A 1 | 1 B 2.5 | 7 null null");
        assert_eq!(draw_table(&mirror), "K:str V:float: 0 A 1.0 | 1 B 2.5 | 7 null null");
        assert_eq!(draw_table(&table("0 A 1 | 1 B 2")), "K:str V:int: 0 A 1 | 1 B 2");
        assert_eq!(mirror.rows.len(), 3);
        assert!(matches!(mirror.rows[&7][..], [Cell::Null, Cell::Null]));
    }

    #[test]
    fn parts_of_a_step_are_read_as_they_are_drawn() {
        let mirror = table("0 A 1 | 1 B 2 | 2 C 3 | 5 D 4");
        let text = "- 1 | > [2..5]-1 | + 7 E 9 | ~ 1 . 30";
        let step = step(text, &mirror.schema);
        assert_eq!(step.shifts, [(2, 5, -1)]);
        assert_eq!(step.modified.1.len(), 1);
        assert_eq!(draw_step(&step, &mirror.schema), text);
        let mut after = mirror.clone();
        after.apply(&step);
        assert_eq!(draw_table(&after), "K:str V:int: 0 A 1 | 1 C 30 | 4 D 4 | 7 E 9");
    }

    #[test]
    fn ranges_and_empty_drawings() {
        let schema = table("K:str V:int:").schema;
        assert_eq!(draw_step(&step("- [3..9] | - 11", &schema), &schema), "- [3..9] | - 11");
        assert_eq!(draw_step(&step("", &schema), &schema), "");
        assert_eq!(draw_table(&table("K:str V:int:")), "K:str V:int:");
    }

    #[test]
    fn drawing_and_reading_are_inverse() {
        let all = table_of(
            "b:bool a:i8 c:i32 d:u8 e:uint f:f32 g:float h:str i:bytes j:date k:clock l:time m:duration n:decimal",
        );
        for seed in 0..60 {
            let mut tape = Tape::seeded(seed);
            let spec = if seed % 2 == 0 { any_table() } else { all.clone() };
            let mut case = Case::new(&spec, &mut tape);
            for _ in 0..6 {
                let before = case.mirror.clone();
                let made = case.step(&mut tape);
                let text = draw_step(&made, &before.schema);
                let mut again = before.clone();
                again.apply(&step(&text, &before.schema));
                assert_eq!(again.plain().first_difference(&case.mirror.plain()), None, "{text}");
                assert_eq!(draw_step(&step(&text, &before.schema), &before.schema), text);
                let drawn = draw_table(&case.mirror);
                assert_eq!(draw_table(&table(&drawn)), drawn);
            }
        }
    }
}
