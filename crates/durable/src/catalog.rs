//! What is in a folder: its tables, and the plans of the tables that are kept.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use engine::sources::FedKind;
use serde::{Deserialize, Serialize};

use crate::cells::{Bytes, put_block, schema_bytes, schema_of};
use crate::error::Error;

/// The format of records and bases that this version writes; it reads those before it. In the first, a delta was one record.
pub(crate) const FORMAT: u64 = 2;

/// What a record or a part is, in its note.
pub(crate) const BEGIN: &str = "begin";
pub(crate) const TABLE: &str = "table";
pub(crate) const KEEP: &str = "keep";
pub(crate) const ROWS: &str = "rows";
pub(crate) const STEP: &str = "step";
pub(crate) const DELTA: &str = "delta";
pub(crate) const PART: &str = "part";
pub(crate) const LAST: &str = "last";

/// The first record of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) format: u64,
    /// Whether it is the folder of a graph whose sources keep what they store, or holds checkpoints alone.
    pub(crate) durable: bool,
    /// Drawn when the folder was begun: two that were begun apart are told apart.
    pub(crate) lineage: String,
}

impl Begin {
    pub(crate) fn new(durable: bool) -> Begin {
        use std::hash::{BuildHasher, Hasher, RandomState};
        let word = |salt: u64| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(salt);
            hasher.finish()
        };
        Begin { format: FORMAT, durable, lineage: format!("{:016x}{:016x}", word(1), word(2)) }
    }

    pub(crate) fn read(path: &Path, body: &[u8]) -> Result<Begin, Error> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let damaged = |error: serde_json::Error| Error::damaged(path, format!("its first record is not read: {error}"));
        let Format { format } = serde_json::from_slice(body).map_err(damaged)?;
        if format == 0 || format > FORMAT {
            return Err(Error::Format { path: path.to_path_buf(), found: format, known: FORMAT });
        }
        serde_json::from_slice(body).map_err(damaged)
    }
}

/// How the rows of a saved table are addressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Append,
    Blink,
    Keyed(Vec<String>),
    Input,
    Static,
}

impl Kind {
    pub(crate) fn of(kind: &FedKind) -> Kind {
        match kind {
            FedKind::Append => Kind::Append,
            FedKind::Blink => Kind::Blink,
            FedKind::Keyed(key) => Kind::Keyed(key.clone()),
            FedKind::Input => Kind::Input,
        }
    }

    /// As its user made it.
    pub(crate) fn text(&self) -> String {
        match self {
            Kind::Append => "append_table".into(),
            Kind::Blink => "blink_table".into(),
            Kind::Keyed(key) => format!("keyed_table by {key:?}"),
            Kind::Input => "input_table".into(),
            Kind::Static => "table".into(),
        }
    }
}

/// A table of a folder.
#[derive(Clone, Debug)]
pub struct SavedTable {
    pub(crate) id: u64,
    /// Its name.
    pub name: String,
    pub(crate) kind: Kind,
    /// Whether its journal is this folder.
    pub durable: bool,
    /// Its columns, as they were declared.
    pub schema: Arc<Schema>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    id: u64,
    name: String,
    kind: Kind,
    durable: bool,
    #[serde(default)]
    next: u64,
}

impl SavedTable {
    /// How its rows are addressed; none for a table that never changes.
    pub fn kind(&self) -> Option<FedKind> {
        Some(match &self.kind {
            Kind::Append => FedKind::Append,
            Kind::Blink => FedKind::Blink,
            Kind::Keyed(key) => FedKind::Keyed(key.clone()),
            Kind::Input => FedKind::Input,
            Kind::Static => return None,
        })
    }

    /// The types in which its columns are stored.
    pub(crate) fn types(&self) -> Vec<DataType> {
        self.schema.fields().iter().map(|field| column::types::canonical(field.data_type())).collect()
    }

    pub(crate) fn bytes(&self, next: u64) -> Result<Vec<u8>, String> {
        let SavedTable { id, name, kind, durable, schema } = self;
        let written = Written { id: *id, name: name.clone(), kind: kind.clone(), durable: *durable, next };
        let mut bytes = Vec::new();
        put_block(&mut bytes, &serde_json::to_vec(&written).map_err(|error| error.to_string())?);
        put_block(&mut bytes, &schema_bytes(schema).map_err(|error| error.to_string())?);
        Ok(bytes)
    }

    /// A table, and the key that its next new row takes.
    pub(crate) fn read(body: &[u8]) -> Result<(SavedTable, u64), String> {
        let mut bytes = Bytes::new(body);
        let Written { id, name, kind, durable, next } =
            serde_json::from_slice(bytes.block()?).map_err(|error| error.to_string())?;
        let schema = schema_of(bytes.block()?)?;
        Ok((SavedTable { id, name, kind, durable, schema }, next))
    }

    /// Fails if it is not the table that is asked for. `operation` is the call of the user.
    pub(crate) fn check(&self, operation: &str, kind: &FedKind, schema: &Schema) -> Result<(), Error> {
        let Some(what) = self.differs(&Kind::of(kind), schema) else { return Ok(()) };
        let message = format!("the table {:?} was saved under this name, and {what}; give another name=", self.name);
        Err(Error::Engine(engine::Error::Schema { operation: operation.into(), message }))
    }

    /// What is wrong with a table that is asked for under this name; none if it is this one.
    fn differs(&self, kind: &Kind, schema: &Schema) -> Option<String> {
        if self.kind != *kind {
            return Some(format!("it was made as {}, and is asked for as {}", self.kind.text(), kind.text()));
        }
        let saved = self.schema.fields();
        for (at, field) in schema.fields().iter().enumerate() {
            let known = saved.iter().find(|known| known.name() == field.name());
            let shown = |field: &arrow_schema::Field| format!("{:?} of {}", field.name(), field.data_type());
            match known {
                None => {
                    return Some(format!(
                        "it has no column {}; its columns are {:?}",
                        shown(field),
                        names(&self.schema)
                    ));
                }
                Some(known) if known.data_type() != field.data_type() => {
                    return Some(format!(
                        "its column {:?} is {}, not {}",
                        field.name(),
                        known.data_type(),
                        field.data_type()
                    ));
                }
                Some(_) if saved.get(at).is_some_and(|other| other.name() != field.name()) => {
                    return Some(format!("its columns are in another order: {:?}", names(&self.schema)));
                }
                Some(_) => {}
            }
        }
        (saved.len() > schema.fields().len()).then(|| format!("it has more columns: {:?}", names(&self.schema)))
    }
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// The plan of a table that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The name under which it is kept.
    pub name: String,
    /// The plan as text.
    pub plan: String,
    /// Its inputs: each its name in the plan, and the name of the saved table.
    pub inputs: Vec<(String, String)>,
}

/// Tables by number, kept plans by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tables: Vec<SavedTable>,
    pub(crate) kept: Vec<Kept>,
}

impl Catalog {
    pub(crate) fn next_id(&self) -> u64 {
        self.tables.iter().map(|table| table.id + 1).max().unwrap_or(0)
    }

    pub(crate) fn table(&self, id: u64) -> Option<&SavedTable> {
        self.tables.iter().find(|table| table.id == id)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&SavedTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    pub(crate) fn note(&mut self, table: SavedTable) {
        match self.tables.iter_mut().find(|known| known.id == table.id) {
            Some(known) => *known = table,
            None => self.tables.push(table),
        }
    }

    pub(crate) fn keep(&mut self, kept: Kept) {
        self.kept.retain(|known| known.name != kept.name);
        self.kept.push(kept);
    }
}
