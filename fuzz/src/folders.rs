//! Folders of durable graphs with any records: taken up or refused.

use std::sync::Arc;

use durable::{feeding, made, restore, restore_into};
use engine::Table;
use engine::sources::{AppendTable, BlinkTable, FedKind, Feeding, Initial, InputTable, KeyedTable};
use graph::{Settings, UpdateGraph};
use log::{Kind, Log};

use super::scratch::Folder;

/// What a record can say it is; the last is none.
const NOTES: [&str; 9] = ["begin", "table", "keep", "rows", "step", "delta", "part", "last", "other"];

/// The records of a case, each with its note; so many of the first are a base.
///
/// The first byte says how many are a base. Of each record one byte says the note, two the length of the body.
fn records(bytes: &[u8]) -> Option<(usize, Vec<(&'static str, &[u8])>)> {
    let (base, mut rest) = bytes.split_first()?;
    let mut records = Vec::new();
    while let [note, low, high, more @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        records.push((NOTES[usize::from(*note) % NOTES.len()], &more[..len]));
        rest = &more[len..];
    }
    Some((usize::from(*base).min(records.len()), records))
}

/// What is read of a folder is the same each time; a graph takes it up, every table with the rows that were read, and goes on.
/// Whether that came to pass.
///
/// # Panics
/// Where tables that were read are not made, or have other rows.
pub fn folders(bytes: &[u8]) -> bool {
    let Some((base, records)) = records(bytes) else { return false };
    let folder = Folder::new();
    {
        let mut log = Log::open(&folder.0).expect("an empty folder is a log");
        let mut parts = log.begin_base(None).expect("a base of nothing");
        records[..base].iter().for_each(|(note, body)| parts.push(note, &[*body]).expect("room on the disk"));
        log.adopt(parts.finish().expect("room on the disk")).expect("its own base");
        for (number, (note, body)) in records[base..].iter().enumerate() {
            log.append(number as u64, Kind::Change, note, body).expect("room on the disk");
        }
    }
    let told = |rows: &[Arc<Initial>]| rows.iter().map(|initial| format!("{:?}", initial.rows)).collect::<Vec<_>>();
    let read = || -> Result<Vec<Arc<Initial>>, durable::Error> {
        Ok(restore(&folder.0)?.tables.into_iter().map(|saved| saved.initial).collect())
    };
    let rows = match (read(), read()) {
        (Ok(rows), Ok(again)) => {
            assert_eq!(told(&rows), told(&again));
            rows
        }
        (Err(_), Err(_)) => return false,
        (read, again) => panic!("read: {:?}, again: {:?}", read.err(), again.err()),
    };
    let graph = UpdateGraph::new(Settings::default());
    let Ok(past) = restore_into(&folder.0, &graph) else { return false };
    let mut tables = Vec::new();
    for (saved, initial) in past.tables.iter().zip(&rows) {
        let Some(kind) = saved.kind() else { continue };
        let schema = saved.schema.clone();
        let Ok(feeding) = feeding(&graph, "fuzz", Some(&saved.name), saved.durable && past.durable, &kind, &schema)
        else {
            continue;
        };
        let make = |feeding: Feeding| -> Result<Table, engine::Error> {
            Ok(match &kind {
                FedKind::Append => AppendTable::fed(&graph, schema, feeding)?.table().clone(),
                FedKind::Blink => BlinkTable::fed(&graph, schema, feeding)?.table().clone(),
                FedKind::Keyed(key) => KeyedTable::fed(&graph, schema, key, feeding)?.table().clone(),
                FedKind::Input => InputTable::fed(&graph, schema, feeding)?.table().clone(),
            })
        };
        let table = make(feeding);
        made(&graph, &saved.name, table.as_ref().ok());
        // A key that two rows have, for example, is found as the table is made.
        if let Ok(table) = table {
            let count: u64 = initial.rows.iter().map(|(keys, _)| keys.len()).sum();
            tables.push((table, if kind == FedKind::Blink { 0 } else { count }));
        }
    }
    graph.step().expect("a step without calls");
    for (table, count) in &tables {
        let view = table.view().expect("a table that was made");
        let columns: Vec<usize> = (0..view.width()).collect();
        assert_eq!(view.rows().len(), *count);
        for cells in view.read_columns(&columns, view.rows()).expect("cells of its rows") {
            cells.to_data().validate_full().expect("sound cells");
        }
    }
    !tables.is_empty()
}
