//! JSON values into columns, without a tree of values between.
//!
//! A value that does not fit leaves a null and a note; text that is no JSON ends its record.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef, Fields};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::cells::{Cells, cells, cells_of, shown};
use crate::fields::{Column, Fields as Places};

/// Values of one column, and what does not fit.
pub(super) enum Node {
    Scalar(Box<dyn Cells>),
    /// Texts as they are; anything else as its JSON text.
    AnyText(Box<dyn Cells>),
    List {
        field: FieldRef,
        item: Box<Node>,
        ends: Vec<i32>,
        valid: Vec<bool>,
    },
    Object(Object),
}

pub(super) struct Object {
    fields: Fields,
    places: HashMap<String, usize>,
    pub(super) nodes: Vec<Node>,
    valid: Vec<bool>,
    /// Fields that stand for no column are an error.
    strict: bool,
}

/// What did not fit in a record: the path of the field, and why.
pub(super) type Notes = Vec<(String, String)>;

impl Node {
    /// Of a declared type; none where no JSON becomes one.
    pub(super) fn new(of: &DataType, strict: bool, any_text: bool) -> Option<Node> {
        Some(match of {
            DataType::List(field) => Node::List {
                field: field.clone(),
                item: Box::new(Node::new(field.data_type(), strict, any_text)?),
                ends: vec![0],
                valid: Vec::new(),
            },
            DataType::Struct(fields) => Node::Object(Object::new(fields, strict, any_text)?),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if any_text => {
                Node::AnyText(cells_of(of, true, 0)?)
            }
            _ => Node::Scalar(cells(of)?),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Node::Scalar(cells) | Node::AnyText(cells) => cells.len(),
            Node::List { valid, .. } => valid.len(),
            Node::Object(object) => object.valid.len(),
        }
    }

    pub(super) fn null(&mut self) {
        match self {
            Node::Scalar(cells) | Node::AnyText(cells) => cells.null(),
            Node::List { item, ends, valid, .. } => {
                ends.push(item.len() as i32);
                valid.push(false);
            }
            Node::Object(object) => {
                let rows = object.valid.len() + 1;
                object.level(rows);
                object.valid.push(false);
            }
        }
    }

    /// What a record began and did not end becomes a null.
    fn settle(&mut self) {
        match self {
            Node::Scalar(_) | Node::AnyText(_) => {}
            Node::List { item, .. } => item.settle(),
            Node::Object(object) => {
                object.nodes.iter_mut().for_each(Node::settle);
                let begun = object.nodes.iter().map(Node::len).max().unwrap_or(0);
                if begun > object.valid.len() {
                    object.level(begun);
                    object.valid.push(false);
                }
            }
        }
    }

    /// Nulls until there are so many.
    pub(super) fn level(&mut self, rows: usize) {
        while self.len() < rows {
            self.null();
        }
    }

    /// All values, and what the texts of some types did not become, by row.
    pub(super) fn finish(self) -> (ArrayRef, Vec<(usize, String)>) {
        match self {
            Node::Scalar(mut cells) | Node::AnyText(mut cells) => cells.finish(),
            Node::List { field, item, ends, valid } => {
                let (items, lost) = item.finish();
                let items = inner(items, field.data_type());
                let row = |item: usize| ends.partition_point(|end| *end as usize <= item) - 1;
                let lost = lost.into_iter().map(|(item, message)| (row(item), message)).collect();
                let nulls = NullBuffer::from(valid);
                (Arc::new(ListArray::new(field, OffsetBuffer::new(ends.into()), items, Some(nulls))), lost)
            }
            Node::Object(object) => {
                let nulls = NullBuffer::from(object.valid.clone());
                let rows = object.valid.len();
                let declared = object.fields.clone();
                let (columns, lost) = object.columns();
                let own = columns.into_iter().zip(&declared);
                let columns = own.map(|(column, field)| inner(column, field.data_type())).collect();
                (
                    Arc::new(
                        StructArray::try_new_with_length(declared, columns, Some(nulls), rows)
                            .expect("columns of one length"),
                    ),
                    lost,
                )
            }
        }
    }
}

/// Cells inside of others are kept in their declared type.
fn inner(cells: ArrayRef, declared: &DataType) -> ArrayRef {
    if cells.data_type() == declared {
        return cells;
    }
    arrow_cast::cast(&cells, declared)
        .expect("texts and bytes have two forms, and blocks are smaller than either holds")
}

impl Object {
    pub(super) fn new(fields: &Fields, strict: bool, any_text: bool) -> Option<Object> {
        let nodes = fields.iter().map(|field| Node::new(field.data_type(), strict, any_text)).collect::<Option<_>>()?;
        let places = fields.iter().enumerate().map(|(at, field)| (field.name().clone(), at)).collect();
        Some(Object { fields: fields.clone(), places, nodes, valid: Vec::new(), strict })
    }

    pub(super) fn rows(&self) -> usize {
        self.valid.len()
    }

    fn level(&mut self, rows: usize) {
        self.nodes.iter_mut().for_each(|node| node.level(rows));
    }

    /// Whether all columns are of cells that hold no others.
    pub(super) fn is_flat(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node, Node::Scalar(_) | Node::AnyText(_)))
    }

    /// Adds records, column by column; what does not fit is told by record and column. All columns are flat.
    pub(super) fn take(&mut self, places: &Places, text: &[u8], sound: (usize, &str)) -> Vec<(usize, usize, String)> {
        let mut told = Vec::new();
        for (column, node) in self.nodes.iter_mut().enumerate() {
            if let Node::Scalar(cells) | Node::AnyText(cells) = node {
                let mut wrong = Vec::new();
                let of = Column { fields: places, text, sound: Some(sound), column, nulls: &[], quote: None };
                cells.take(&of, &mut wrong);
                told.extend(wrong.into_iter().map(|(row, message)| (row, column, message)));
            }
        }
        self.valid.resize(self.valid.len() + places.len(), true);
        told
    }

    /// The last row, which was whole, is null.
    pub(super) fn undo(&mut self) {
        self.valid.pop();
    }

    /// A record that is no JSON, or no object: all its cells that are not there are null.
    pub(super) fn broken(&mut self) {
        let rows = self.valid.len() + 1;
        self.nodes.iter_mut().for_each(Node::settle);
        self.level(rows);
        self.valid.push(false);
    }

    pub(super) fn columns(self) -> (Vec<ArrayRef>, Vec<(usize, String)>) {
        let (mut columns, mut lost) = (Vec::new(), Vec::new());
        for node in self.nodes {
            let (column, own) = node.finish();
            columns.push(column);
            lost.extend(own);
        }
        (columns, lost)
    }
}

/// A value that goes into a node; what does not fit is noted.
pub(super) struct Into<'a> {
    pub(super) node: &'a mut Node,
    pub(super) notes: &'a mut Notes,
    pub(super) path: &'a str,
}

impl Into<'_> {
    fn told(&mut self, said: Result<(), String>) {
        if let Err(message) = said {
            self.node.null();
            self.notes.push((self.path.to_owned(), message));
        }
    }

    fn refuse(&mut self, what: &str) {
        let wanted = match self.node {
            Node::Scalar(cells) | Node::AnyText(cells) => cells.wanted(),
            Node::List { .. } => "List".to_owned(),
            Node::Object(_) => "Struct".to_owned(),
        };
        self.told(Err(format!("{what} is no {wanted}")));
    }
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let any = matches!(self.node, Node::AnyText(_));
        if let Node::Scalar(cells) | Node::AnyText(cells) = self.node {
            let raw: &RawValue = serde::Deserialize::deserialize(from)?;
            let raw = raw.get();
            let said = match raw.as_bytes() {
                [b'n', ..] => {
                    cells.null();
                    Ok(())
                }
                [b'"', ..] => {
                    let text: String = serde_json::from_str(raw).map_err(D::Error::custom)?;
                    cells.text(&text)
                }
                [b't', ..] => cells.boolean(true),
                [b'f', ..] => cells.boolean(false),
                [b'{' | b'[', ..] if any => cells.text(raw),
                [b'{', ..] => Err(format!("an object is no {}", cells.wanted())),
                [b'[', ..] => Err(format!("a list is no {}", cells.wanted())),
                // Digits are read as they stand: a float between would lose some.
                _ => cells.number(raw),
            };
            let mut own = self;
            own.told(said);
            return Ok(());
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.node.null();
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.refuse(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(mut self, value: i64) -> Result<(), E> {
        self.refuse(&value.to_string());
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.refuse(&value.to_string());
        Ok(())
    }

    fn visit_f64<E>(mut self, value: f64) -> Result<(), E> {
        self.refuse(&value.to_string());
        Ok(())
    }

    fn visit_str<E>(mut self, value: &str) -> Result<(), E> {
        self.refuse(&shown(value));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let Node::List { item, ends, valid, .. } = self.node else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            self.refuse("a list");
            return Ok(());
        };
        loop {
            let into = Into { node: item, notes: self.notes, path: self.path };
            if seq.next_element_seed(into)?.is_none() {
                break;
            }
        }
        let end =
            i32::try_from(item.len()).map_err(|_| A::Error::custom("lists of more than 2^31 items in one block"))?;
        ends.push(end);
        valid.push(true);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        let Node::Object(object) = self.node else {
            let mut map = map;
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.refuse("an object");
            return Ok(());
        };
        fields(object, self.notes, self.path, map)
    }
}

/// The fields of an object into the columns that are called like them.
fn fields<'de, A: MapAccess<'de>>(
    object: &mut Object,
    notes: &mut Notes,
    path: &str,
    mut map: A,
) -> Result<(), A::Error> {
    let row = object.valid.len();
    let named = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let mut expected = 0;
    while let Some(name) = map.next_key::<Name>()? {
        let name = name.0.as_ref();
        // Most records have their fields in the order of the columns.
        let known = object.fields.get(expected).filter(|field| field.name() == name).map(|_| expected);
        let found = known.or_else(|| object.places.get(name).copied());
        expected = found.map_or(expected, |found| found + 1);
        let Some(place) = found else {
            map.next_value::<IgnoredAny>()?;
            if object.strict {
                notes.push((named(name), "there is no such column".to_owned()));
            }
            continue;
        };
        let node = &mut object.nodes[place];
        if node.len() > row {
            map.next_value::<IgnoredAny>()?;
            notes.push((named(name), "it stands twice in one object; the first is taken".to_owned()));
            continue;
        }
        let own = if path.is_empty() { None } else { Some(named(name)) };
        map.next_value_seed(Into { node, notes, path: own.as_deref().unwrap_or(name) })?;
    }
    object.level(row + 1);
    object.valid.push(true);
    Ok(())
}

struct Name<'a>(std::borrow::Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(std::borrow::Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(std::borrow::Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Text)
    }
}

/// One record: an object.
pub(super) struct Row<'a> {
    pub(super) object: &'a mut Object,
    pub(super) notes: &'a mut Notes,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object, which is a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        fields(self.object, self.notes, "", map)
    }
}
