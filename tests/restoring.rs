//! Durable tables: restored, they are what they would be had nothing happened; of a copy of the folder taken at any
//! moment, no acknowledged step is missing, and none is half there.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use durable::{Asked, Contents, Durable, checkpoint_to, restore};
use engine::Table;
use engine::sources::{AppendTable, FedKind, Feeding, Token};
use engine::testing::{Case, Plain, Source, Tape, any_table, count_step, explore};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

/// A folder of its own, gone with the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickframe-durable-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        // Memory, where there is a file system of it: these tests are of what is written, and sync a lot.
        let shared = Path::new("/dev/shm");
        let path = if shared.is_dir() { shared.join(name) } else { std::env::temp_dir().join(name) };
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn still_graph() -> UpdateGraph {
    UpdateGraph::new(Settings { period: std::time::Duration::ZERO, threads: Some(1), init_threads: Some(1) })
}

pub fn plain(table: &Table) -> Plain {
    let view = table.view().unwrap();
    let arrays: Vec<_> = (0..view.width()).map(|column| view.read(column, view.rows()).unwrap()).collect();
    Plain::from_arrays(table.schema().clone(), &view.rows().to_vec(), &arrays)
}

/// A table that runs on, and the same table in a graph that is opened anew now and then.
struct Twins {
    name: String,
    case: Case,
    durable: bool,
    runs_on: Source,
    kept: Source,
}

/// The graph that is opened anew.
pub struct Opened {
    pub graph: UpdateGraph,
    pub durable: Arc<Durable>,
}

impl Opened {
    fn at(path: &Path) -> Result<Opened, String> {
        let graph = still_graph();
        let durable = Durable::open(path, &graph).map_err(|error| error.to_string())?;
        Ok(Opened { graph, durable })
    }

    pub fn source(&self, name: &str, case: &Case, durable: bool) -> Result<Source, String> {
        let text = |error: engine::Error| error.to_string();
        let kind = Source::kind_of(case).ok_or("a static table")?;
        let feeding = match durable {
            true => {
                self.durable.claim("source", name, &kind, &case.mirror.schema).map_err(|error| error.to_string())?
            }
            false => Feeding { name: Some(name.to_owned()), ..Feeding::default() },
        };
        let made = Source::fed(&self.graph, case, feeding).map_err(text)?;
        if durable {
            self.durable.made(name, Some(made.table()));
        }
        Ok(made)
    }
}

fn same(what: &str, name: &str, wanted: &Plain, found: &Plain) -> Result<(), String> {
    match wanted.first_difference(found) {
        None => Ok(()),
        Some(difference) => Err(format!("{what}: table {name}: {difference}\nwanted {wanted}\nfound  {found}")),
    }
}

/// Copies a folder as it is at one moment, but for what is written at the end of a file.
fn copied(from: &Path, to: &Path) {
    let names = || {
        let paths = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path());
        let mut named: Vec<PathBuf> = paths.filter(|path| path.extension().is_none_or(|end| end != "part")).collect();
        named.sort_unstable();
        named
    };
    loop {
        let _ = fs::remove_dir_all(to);
        fs::create_dir_all(to).unwrap();
        let found = names();
        for path in &found {
            // A file may go while the folder is read, as a base takes the place of others.
            let _ = fs::copy(path, to.join(path.file_name().unwrap()));
        }
        if names() == found {
            return;
        }
    }
}

fn run(tape: &mut Tape) -> Result<(), String> {
    let (scratch, twin_graph) = (Scratch::new(), still_graph());
    let path = scratch.path("graph");
    let mut opened = Opened::at(&path)?;
    let mut twins = Vec::new();
    for at in 0..1 + tape.below(3) {
        let (runs_on, case) = Source::draw(&twin_graph, &any_table(), tape).map_err(|error| error.to_string())?;
        let (name, durable) = (format!("t{at}"), !tape.chance(40));
        let kept = opened.source(&name, &case, durable)?;
        twins.push(Twins { name, case, durable, runs_on, kept });
    }
    // What each durable table was after each step.
    let state = |twins: &[Twins]| -> Vec<Plain> { twins.iter().map(|twins| plain(twins.runs_on.table())).collect() };
    let mut history = vec![state(&twins)];
    let mut acknowledged = 0;
    for _ in 0..1 + tape.below(10) {
        count_step();
        let (mut tokens, mut any_durable) = (Vec::<Token>::new(), false);
        for twins in &mut twins {
            if tape.chance(60) {
                continue;
            }
            let schema = twins.case.mirror.schema.clone();
            let step = twins.case.step(tape);
            if step.is_empty() && step.keyed.is_none() {
                continue;
            }
            let text = |error: engine::Error| error.to_string();
            let _ = twins.runs_on.apply(&step, &schema).map_err(text)?;
            tokens.push(twins.kept.apply(&step, &schema).map_err(text)?);
            any_durable |= twins.durable;
        }
        twin_graph.step().map_err(|error| error.to_string())?;
        opened.graph.step().map_err(|error| error.to_string())?;
        history.push(state(&twins));
        for twins in &twins {
            same("as it runs", &twins.name, &plain(twins.runs_on.table()), &plain(twins.kept.table()))?;
        }
        if tape.chance(100) {
            for token in &tokens {
                token.wait(None, &mut || true).map_err(|error| error.to_string())?;
            }
            acknowledged = if any_durable { history.len() - 1 } else { acknowledged };
        }
        match tape.below(6) {
            0 => {
                let report = opened.durable.checkpoint(&Asked::default()).map_err(|error| error.to_string())?;
                if report.step == 0 && history.len() > 2 && report.tables > 0 && opened.graph.settled().number() > 0 {
                    return Err(format!("a checkpoint of no step: {report:?}"));
                }
                acknowledged = history.len() - 1;
                // What has no journal is there as of the checkpoint.
                let contents = restored_copy(&scratch, &path)?;
                for twins in twins.iter().filter(|twins| !twins.durable) {
                    let found = contents.iter().find(|(name, _)| *name == twins.name);
                    let (_, found) = found.ok_or_else(|| format!("no table {}", twins.name))?;
                    same("saved", &twins.name, &plain(twins.runs_on.table()), found)?;
                }
            }
            1 => {
                // A copy at this moment: what was acknowledged is there, and one step of all tables.
                let contents = restored_copy(&scratch, &path)?;
                let found = |state: &Vec<Plain>| {
                    twins.iter().zip(state).filter(|(twins, _)| twins.durable).all(|(twins, wanted)| {
                        let found = contents.iter().find(|(name, _)| *name == twins.name);
                        found.is_some_and(|(_, found)| wanted.first_difference(found).is_none())
                    })
                };
                if !history[acknowledged..].iter().any(found) {
                    let last = history.last().expect("it begins with one");
                    let shown: Vec<String> = twins
                        .iter()
                        .zip(last)
                        .filter(|(twins, _)| twins.durable)
                        .map(|(twins, wanted)| {
                            let found = contents.iter().find(|(name, _)| *name == twins.name);
                            let differs = found.and_then(|(_, found)| wanted.first_difference(found));
                            format!(
                                "{}: {differs:?}\nwanted {wanted}\nfound  {}",
                                twins.name,
                                found.map_or(String::new(), |(_, found)| found.to_string())
                            )
                        })
                        .collect();
                    return Err(format!(
                        "a copy is no step from {acknowledged} to {}\n{}",
                        history.len() - 1,
                        shown.join("\n")
                    ));
                }
            }
            2 => {
                // Opened anew. Tables without a journal begin anew, so they are left out from here on.
                for twins in &mut twins {
                    twins.kept = Source::Static(twins.kept.table().snapshot().map_err(|error| error.to_string())?);
                }
                if tape.chance(128) {
                    opened.durable.close().map_err(|error| error.to_string())?;
                }
                // Tokens hold the graph.
                drop((opened, tokens));
                opened = Opened::at(&path)?;
                twins.retain(|twins| twins.durable);
                for twins in &mut twins {
                    twins.kept = opened.source(&twins.name, &twins.case, true)?;
                    same("opened anew", &twins.name, &plain(twins.runs_on.table()), &plain(twins.kept.table()))?;
                }
                history = vec![state(&twins)];
                acknowledged = 0;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The tables of a copy of the folder.
fn restored_copy(scratch: &Scratch, path: &Path) -> Result<Vec<(String, Plain)>, String> {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    let copy = scratch.path(&format!("copy-{}", COPIES.fetch_add(1, Ordering::Relaxed)));
    copied(path, &copy);
    Ok(tables_of(&restore(&copy).map_err(|error| error.to_string())?))
}

/// What a folder holds, by name.
pub fn tables_of(contents: &Contents) -> Vec<(String, Plain)> {
    let tables = contents.tables.iter().map(|saved| {
        let mut rows = RowSet::new();
        saved.initial.rows.iter().for_each(|(keys, _)| rows |= keys);
        let columns: Vec<_> = (0..saved.table.schema.fields().len())
            .map(|column| {
                let chunks: Vec<_> = saved.initial.rows.iter().map(|(_, cells)| cells[column].as_ref()).collect();
                match chunks.is_empty() {
                    true => arrow_array::new_empty_array(&column::types::canonical(
                        saved.table.schema.field(column).data_type(),
                    )),
                    false => arrow_select::concat::concat(&chunks).unwrap(),
                }
            })
            .collect();
        (saved.table.name.clone(), Plain::from_arrays(saved.table.schema.clone(), &rows.to_vec(), &columns))
    });
    tables.collect()
}

#[test]
fn restored_tables_are_what_they_would_be_had_nothing_happened() {
    explore(150, run);
}

fn numbers(values: std::ops::Range<i64>) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("x", DataType::Int64, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from_iter_values(values))]).unwrap()
}

#[test]
fn checkpoints_elsewhere_cost_what_changed() {
    let scratch = Scratch::new();
    let (graph, path) = (still_graph(), scratch.path("saved"));
    let feeding = Feeding { name: Some("numbers".into()), ..Feeding::default() };
    let table = AppendTable::fed(&graph, numbers(0..0).schema(), feeding).unwrap();
    table.append(&numbers(0..1_000_000)).unwrap();
    graph.step().unwrap();
    let first = checkpoint_to(&path, &graph, &Asked::default()).unwrap();
    assert!(first.whole && first.bytes > 8_000_000, "{first:?}");
    table.append(&numbers(0..10_000)).unwrap();
    graph.step().unwrap();
    let second = checkpoint_to(&path, &graph, &Asked::default()).unwrap();
    assert!(!second.whole && second.bytes < first.bytes / 50, "{second:?}");
    let nothing = checkpoint_to(&path, &graph, &Asked::default()).unwrap();
    assert_eq!((nothing.bytes, nothing.whole), (0, false));
    let contents = restore(&path).unwrap();
    let rows: u64 = contents.tables[0].initial.rows.iter().map(|(keys, _)| keys.len()).sum();
    assert_eq!((rows, contents.tables[0].initial.next), (1_010_000, 1_010_000));
    assert!(!contents.is_durable());
}

#[test]
fn what_cannot_be_taken_up_is_told() {
    let scratch = Scratch::new();
    let path = scratch.path("graph");
    let opened = Opened::at(&path).unwrap();
    let schema = numbers(0..0).schema();
    let feeding = opened.durable.claim("append_table", "numbers", &FedKind::Append, &schema).unwrap();
    let table = AppendTable::fed(&opened.graph, schema.clone(), feeding).unwrap();
    opened.durable.made("numbers", Some(table.table()));
    let refused = |kind: &FedKind, schema: &Schema| {
        opened.durable.claim("append_table", "numbers", kind, schema).err().expect("it is refused").to_string()
    };
    assert!(refused(&FedKind::Append, &schema).contains("already"), "{}", refused(&FedKind::Append, &schema));
    assert!(refused(&FedKind::Blink, &schema).contains("blink"));
    let used = Opened::at(&path).err().expect("it is in use");
    assert!(used.contains("is in use"), "{used}");
    opened.durable.close().unwrap();
    let closed = table.append(&numbers(0..1)).err().expect("it is closed").to_string();
    assert!(closed.contains("was closed"), "{closed}");
    drop((table, opened));
    let opened = Opened::at(&path).unwrap();
    let other = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
    let differs = opened.durable.claim("append_table", "numbers", &FedKind::Append, &other).err().unwrap().to_string();
    assert!(differs.contains("column \"x\" is Int64, not Utf8"), "{differs}");
    let differs = opened.durable.claim("append_table", "numbers", &FedKind::Input, &schema).err().unwrap().to_string();
    assert!(differs.contains("made as append_table, and is asked for as input_table"), "{differs}");
    assert!(restore(&scratch.path("nowhere")).err().unwrap().to_string().contains("no such folder"));
}

#[test]
fn a_checkpoint_that_failed_is_made_good_by_the_next() {
    let scratch = Scratch::new();
    let path = scratch.path("graph");
    let feeding = || Feeding { name: Some("numbers".into()), ..Feeding::default() };
    let schema = numbers(0..0).schema();
    let opened = Opened::at(&path).unwrap();
    let table = AppendTable::fed(&opened.graph, schema.clone(), feeding()).unwrap();
    table.append(&numbers(0..5)).unwrap();
    opened.graph.step().unwrap();
    assert!(!opened.durable.checkpoint(&Asked::default()).unwrap().whole);
    opened.durable.close().unwrap();
    drop((table, opened));
    // The table is made anew, so that its rows take the place of those before; the first try finds something in its way.
    let opened = Opened::at(&path).unwrap();
    let table = AppendTable::fed(&opened.graph, schema, feeding()).unwrap();
    table.append(&numbers(7..9)).unwrap();
    opened.graph.step().unwrap();
    let in_the_way: Vec<PathBuf> = (0..20).map(|number| path.join(format!("base-{number:020}.part"))).collect();
    in_the_way.iter().for_each(|path| fs::create_dir(path).unwrap());
    assert!(opened.durable.checkpoint(&Asked::default()).is_err());
    in_the_way.iter().for_each(|path| fs::remove_dir(path).unwrap());
    assert!(opened.durable.checkpoint(&Asked::default()).unwrap().whole);
    let found = restored_copy(&scratch, &path).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(plain(table.table()).first_difference(&found[0].1), None);
}
