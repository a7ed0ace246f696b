//! The types of columns on the wire, and the schema message.
//!
//! | on the wire | of a table |
//! |---|---|
//! | `byte`, `short`, `int`, `long` | `int8`–`int64`; `uint8` as `short`, `uint32` as `long` |
//! | `char` | `uint16` |
//! | `float`, `double` | `float32`, `float64`; `float16` as `float` |
//! | Boolean, String | `bool`; texts of any width, dictionaries of texts |
//! | Instant, ZonedDateTime | timestamps, in nanoseconds and UTC |
//! | LocalDate, LocalTime, Duration | dates in milliseconds, times and durations in nanoseconds |
//! | Period, PeriodDuration | `interval[year_month]`; `interval[month_day_nano]` |
//! | BigDecimal, BigInteger, byte[] | decimals; `uint64`; byte strings of any width |
//! | T[] | lists of any of these |
//! | Object | nothing but nulls |

use std::sync::Arc;

use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, Metadata, Schema, SchemaRef, TimeUnit};

use crate::BarrageError;

const TYPE: &str = "deephaven:type";
const COMPONENT: &str = "deephaven:componentType";
/// What metadata of the wire begins with.
const OWN: &str = "deephaven:";

/// A table's schema as the wire has it.
#[derive(Clone, Debug)]
pub struct WireSchema {
    schema: SchemaRef,
}

impl WireSchema {
    /// The schema of a table in the types of the wire. Metadata that the fields have stays; so does the schema's.
    pub fn of(schema: &Schema) -> Result<WireSchema, BarrageError> {
        let fields = schema.fields().iter().map(|field| {
            let (wire, name, component) = wire_type(field.data_type()).ok_or_else(|| not_carried(field))?;
            Ok(Arc::new(Field::new(field.name(), wire, true).with_metadata(described(field, &name, component))))
        });
        let fields = fields.collect::<Result<Vec<FieldRef>, BarrageError>>()?;
        Ok(WireSchema { schema: Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())) })
    }

    /// The columns in the types of the wire, with its metadata.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.schema.fields().len()
    }

    /// A schema that came over the wire. With `as_list` each column is the list that it came as.
    pub fn received(schema: &Schema, as_list: bool) -> Result<WireSchema, BarrageError> {
        let schema = if as_list { unlisted(schema)? } else { schema.clone() };
        match schema.fields().iter().find(|field| !is_read(field.data_type(), 0)) {
            Some(field) => Err(not_carried(field)),
            None => Ok(WireSchema { schema: Arc::new(schema) }),
        }
    }

    /// The header of the message that begins a stream.
    pub fn header(&self, as_list: bool) -> Result<Vec<u8>, BarrageError> {
        if as_list { header(&listed(&self.schema)) } else { header(&self.schema) }
    }
}

/// The header of a schema message: a bare flatbuffer, without a length in front.
fn header(schema: &Schema) -> Result<Vec<u8>, BarrageError> {
    let mut dictionaries = DictionaryTracker::new(false);
    let options = IpcWriteOptions::default();
    let encoded =
        IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut dictionaries, &options);
    Ok(encoded.ipc_message)
}

/// A schema out of the header of a schema message; safe on any bytes. Whether its types are carried is asked by
/// [`WireSchema::received`].
pub fn read_schema(header: &[u8]) -> Result<Schema, BarrageError> {
    let message = crate::batch::message(header)?;
    let schema = message.header_as_schema().ok_or(BarrageError::Batch { what: "no schema message".to_owned() })?;
    arrow_ipc::convert::try_fb_to_schema(schema).map_err(|error| BarrageError::Batch { what: error.to_string() })
}

/// A schema in a table's own types, with what the wire says of each column beside it: for clients that speak Arrow
/// alone, and for tables that come back as they went. Types without a place on the wire are called objects.
pub fn original(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let (name, component) = match wire_type(field.data_type()) {
            Some((_, name, component)) => (name, component),
            None => ("java.lang.Object".to_owned(), None),
        };
        Arc::new(field.as_ref().clone().with_metadata(described(field, &name, component)))
    });
    Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone())
}

/// Each column as a list: the outer field is never null, the inner one is the column.
fn listed(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let list = Field::new(field.name(), DataType::List(field.clone()), false);
        Arc::new(list.with_metadata(field.metadata().clone()))
    });
    Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone())
}

fn unlisted(schema: &Schema) -> Result<Schema, BarrageError> {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::List(inner) => Ok(Arc::new(
            Field::new(field.name(), inner.data_type().clone(), true).with_metadata(field.metadata().clone()),
        )),
        _ => Err(BarrageError::Column { column: field.name().clone(), what: "a list was asked for".to_owned() }),
    });
    Ok(Schema::new_with_metadata(fields.collect::<Result<Vec<FieldRef>, _>>()?, schema.metadata().clone()))
}

fn not_carried(field: &Field) -> BarrageError {
    let what = format!("Barrage does not carry the type {}", field.data_type());
    BarrageError::Column { column: field.name().clone(), what }
}

/// The metadata of a field, with what the wire calls its type.
fn described(field: &Field, name: &str, component: Option<String>) -> Metadata {
    let mut metadata = field.metadata().clone();
    let given = metadata.get(TYPE).is_some_and(|given| same_on_wire(given, name));
    if !given {
        metadata.insert(TYPE.to_owned(), name.to_owned());
    }
    if let Some(component) = component {
        metadata.insert(COMPONENT.to_owned(), component);
    }
    debug_assert!(TYPE.starts_with(OWN) && COMPONENT.starts_with(OWN));
    metadata
}

/// Whether a type that was given says no less than the one that was found: both times are one on the wire.
fn same_on_wire(given: &str, found: &str) -> bool {
    let instant = |name: &str| ["java.time.Instant", "java.time.ZonedDateTime"].contains(&name);
    given == found || (instant(given) && instant(found))
}

/// The type on the wire, its name there, and the name of the type of its elements.
fn wire_type(data_type: &DataType) -> Option<(DataType, String, Option<String>)> {
    use TimeUnit::Nanosecond;
    let (wire, name) = match data_type {
        DataType::Boolean => (DataType::Boolean, "java.lang.Boolean"),
        DataType::Int8 => (DataType::Int8, "byte"),
        DataType::Int16 | DataType::UInt8 => (DataType::Int16, "short"),
        DataType::Int32 => (DataType::Int32, "int"),
        DataType::Int64 | DataType::UInt32 => (DataType::Int64, "long"),
        DataType::UInt16 => (DataType::UInt16, "char"),
        DataType::UInt64 => (DataType::Binary, "java.math.BigInteger"),
        DataType::Float16 | DataType::Float32 => (DataType::Float32, "float"),
        DataType::Float64 => (DataType::Float64, "double"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => (DataType::Utf8, "java.lang.String"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            (DataType::Binary, "byte[]")
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            (DataType::Binary, "java.math.BigDecimal")
        }
        DataType::Timestamp(_, zone) => {
            let utc = zone.as_deref().is_none_or(|zone| ["UTC", "+00:00", "Etc/UTC", "Z"].contains(&zone));
            let name = if utc { "java.time.Instant" } else { "java.time.ZonedDateTime" };
            (DataType::Timestamp(Nanosecond, Some("UTC".into())), name)
        }
        DataType::Date32 | DataType::Date64 => (DataType::Date64, "java.time.LocalDate"),
        DataType::Time32(_) | DataType::Time64(_) => (DataType::Time64(Nanosecond), "java.time.LocalTime"),
        DataType::Duration(_) | DataType::Interval(IntervalUnit::DayTime) => {
            (DataType::Duration(Nanosecond), "java.time.Duration")
        }
        DataType::Interval(IntervalUnit::YearMonth) => (data_type.clone(), "java.time.Period"),
        DataType::Interval(IntervalUnit::MonthDayNano) => (data_type.clone(), "org.apache.arrow.vector.PeriodDuration"),
        DataType::Null => (DataType::Utf8, "java.lang.Object"),
        DataType::Dictionary(_, values) => return wire_type(values),
        DataType::RunEndEncoded(_, values) => return wire_type(values.data_type()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => {
            let (inner, name, component) = wire_type(item.data_type())?;
            let mut item = Field::new("", inner, true);
            item.set_metadata(described(&item, &name, component));
            return Some((DataType::List(Arc::new(item)), format!("{name}[]"), Some(name)));
        }
        _ => return None,
    };
    Some((wire, name.to_owned(), None))
}

/// Types of lists within lists that are read.
const DEPTH: usize = 16;

/// Whether cells of this type are read.
fn is_read(data_type: &DataType, depth: usize) -> bool {
    match data_type {
        DataType::Boolean | DataType::Utf8 | DataType::Binary => true,
        DataType::List(item) => depth < DEPTH && is_read(item.data_type(), depth + 1),
        DataType::Dictionary(..) => false,
        other => other.primitive_width().is_some(),
    }
}
