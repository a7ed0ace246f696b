//! The registry of sources: each against its model, with several calls a step, in transactions and out of them; the
//! clock is moved by hand, and what is static is read whole, in part and as a copy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use engine::snapshot;
use engine::sources::{AppendTable, BlinkTable, InputTable, KeyedTable, TimeTable, Transaction, from_chunks, selected};
use engine::testing::feeds::apply_of;
use engine::testing::plain::{array_of, cells_of};
use engine::testing::random::KINDS;
use engine::testing::values::{STYLES, Values};
use engine::testing::{Case, Cell, RawStep, TableSpec, Tape, Watch, count_step, explore, table_of};
use graph::env::{ManualTime, TimeSource as Clock};
use graph::{Settings, UpdateGraph};
use model::sources::{AppendSource, BlinkSource, InputSource, InputStep, KeyedSource, KeyedWrite, TimeSource};
use model::{Compare, Row, differences};
use rowset::RowSet;

use crate::oracle::{to_model, value_of};

/// One public source.
pub struct SourceSpec {
    /// As `registry.txt` calls it.
    pub name: &'static str,
    law: fn(&mut Tape) -> Result<(), String>,
}

/// All of them.
pub const SOURCES: &[SourceSpec] = &[
    SourceSpec { name: "append_table", law: appended },
    SourceSpec { name: "input_table", law: applied },
    SourceSpec { name: "keyed_table", law: keyed },
    SourceSpec { name: "blink_table", law: blinked },
    SourceSpec { name: "time_table", law: ticking },
    SourceSpec { name: "static", law: still },
];

#[test]
fn every_source_equals_the_model() {
    explore(600, |tape| (tape.choose(SOURCES).law)(tape));
}

const NAMES: [&str; 2] = ["k", "v"];

/// A graph, the columns `k` and `v` of any types, and where their cells come from.
struct Bed {
    graph: UpdateGraph,
    spec: TableSpec,
    schema: Arc<Schema>,
    values: [Values; 2],
    /// Who writes steps by row key, with the rows that all calls so far leave.
    case: Option<Case>,
}

impl Bed {
    fn new(tape: &mut Tape) -> Bed {
        let graph = UpdateGraph::new(settings(tape));
        let kinds = [*tape.choose(&KINDS), *tape.choose(&KINDS)];
        let spec = table_of(&format!("k:{} v:{}", kinds[0], kinds[1]));
        let schema = spec.schema();
        let values = [0, 1].map(|at| Values::new(schema.field(at).data_type(), *tape.choose(&STYLES)));
        Bed { graph, spec, schema, values, case: None }
    }

    /// A few rows, as a batch and as the model's.
    fn rows(&mut self, tape: &mut Tape) -> (RecordBatch, Vec<Row>) {
        let many = tape.below(6) as usize;
        let columns: Vec<Vec<Cell>> =
            self.values.iter_mut().map(|values| (0..many).map(|_| values.draw(tape)).collect()).collect();
        let arrays: Vec<ArrayRef> =
            columns.iter().enumerate().map(|(at, cells)| array_of(self.schema.field(at).data_type(), cells)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(many));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).expect("it fits its schema");
        let row = |at: usize| columns.iter().map(|cells| value_of(&cells[at])).collect();
        (batch, (0..many).map(row).collect())
    }

    /// Some calls, each by itself, in a transaction, or in one that is taken back; those that land are told to `land`.
    fn calls<C>(
        &mut self,
        tape: &mut Tape,
        mut call: impl FnMut(&mut Bed, &mut Tape) -> Result<C, engine::Error>,
        mut land: impl FnMut(C),
    ) -> Result<(), String> {
        for _ in 0..tape.below(4) {
            let text = |error: engine::Error| error.to_string();
            let many = 1 + tape.below(3);
            match tape.below(4) {
                0 | 1 => land(call(self, tape).map_err(text)?),
                2 => {
                    let open = Transaction::begin(&self.graph);
                    let called = open.collect(|| (0..many).map(|_| call(self, tape)).collect::<Result<Vec<C>, _>>());
                    let called = called.map_err(text)?;
                    open.commit().map_err(text)?;
                    called.into_iter().for_each(&mut land);
                }
                _ => {
                    let before = self.case.as_ref().map(|case| case.mirror.clone());
                    let open = Transaction::begin(&self.graph);
                    open.collect(|| (0..many).try_for_each(|_| call(self, tape).map(|_| ()))).map_err(text)?;
                    open.rollback();
                    if let Some((case, before)) = self.case.as_mut().zip(before) {
                        case.mirror = before;
                    }
                }
            }
        }
        count_step();
        self.graph.step().map(|_| ()).map_err(|error| error.to_string())
    }
}

fn settings(tape: &mut Tape) -> Settings {
    Settings { period: Duration::ZERO, threads: Some(*tape.choose(&[1, 2, 4])), init_threads: Some(1) }
}

fn judge(watch: &Watch, wanted: &model::Table, compare: &Compare) -> Result<(), String> {
    if let Some(fault) = watch.fault() {
        return Err(fault);
    }
    watch.with_now(|now| {
        let difference = differences(wanted, &to_model(now), compare);
        difference.map_or(Ok(()), |text| Err(format!("{text}\n  wanted {wanted}\n  found  {now}")))
    })
}

fn appended(tape: &mut Tape) -> Result<(), String> {
    let mut bed = Bed::new(tape);
    let source = AppendTable::new(&bed.graph, bed.schema.clone()).map_err(|error| error.to_string())?;
    let watch = Watch::attach(source.table()).map_err(|error| error.to_string())?;
    let mut model = AppendSource::new(&NAMES);
    for _ in 0..10 {
        let call = |bed: &mut Bed, tape: &mut Tape| {
            let (batch, rows) = bed.rows(tape);
            source.append(&batch).map(|_| rows)
        };
        bed.calls(tape, call, |rows| model.append(rows))?;
        judge(&watch, &model.table(), &Compare::ByPosition)?;
    }
    Ok(())
}

fn blinked(tape: &mut Tape) -> Result<(), String> {
    let mut bed = Bed::new(tape);
    let source = BlinkTable::new(&bed.graph, bed.schema.clone()).map_err(|error| error.to_string())?;
    let watch = Watch::attach(source.table()).map_err(|error| error.to_string())?;
    let mut model = BlinkSource::new(&NAMES);
    for _ in 0..10 {
        let mut landed = Vec::new();
        let call = |bed: &mut Bed, tape: &mut Tape| {
            let (batch, rows) = bed.rows(tape);
            source.append(&batch).map(|_| rows)
        };
        bed.calls(tape, call, |rows| landed.extend(rows))?;
        model.step(landed);
        judge(&watch, &model.table(), &Compare::ByPosition)?;
    }
    Ok(())
}

fn keyed(tape: &mut Tape) -> Result<(), String> {
    let mut bed = Bed::new(tape);
    let source =
        KeyedTable::new(&bed.graph, bed.schema.clone(), &["k".to_owned()]).map_err(|error| error.to_string())?;
    let watch = Watch::attach(source.table()).map_err(|error| error.to_string())?;
    let mut model = KeyedSource::new(&NAMES, &["k"]);
    for _ in 0..10 {
        let mut landed = Vec::new();
        let call = |bed: &mut Bed, tape: &mut Tape| {
            let (batch, rows) = bed.rows(tape);
            if tape.chance(80) {
                let keys = batch.project(&[0]).expect("the key is there");
                let gone = rows.into_iter().map(|row| row[..1].to_vec()).collect();
                return source.delete(&keys).map(|_| KeyedWrite::Delete(gone));
            }
            if tape.chance(60) {
                return source.replace(&batch).map(|_| KeyedWrite::Replace(rows));
            }
            source.upsert(&batch).map(|_| KeyedWrite::Upsert(rows))
        };
        bed.calls(tape, call, |write| landed.push(write))?;
        model.step(&landed);
        judge(&watch, &model.table(), &Compare::by_key(&["k"]))?;
    }
    Ok(())
}

fn applied(tape: &mut Tape) -> Result<(), String> {
    let mut bed = Bed::new(tape);
    bed.case = Some(Case::new(&bed.spec, tape));
    let source = InputTable::new(&bed.graph, bed.schema.clone()).map_err(|error| error.to_string())?;
    let watch = Watch::attach(source.table()).map_err(|error| error.to_string())?;
    let mut model = InputSource::new(&NAMES);
    for _ in 0..10 {
        let call = |bed: &mut Bed, tape: &mut Tape| {
            let raw = bed.case.as_mut().expect("it writes steps").step(tape);
            source.apply(apply_of(&raw, &bed.schema)).map(|_| step_of(&raw))
        };
        bed.calls(tape, call, |step| model.step(&step).expect("a lawful step"))?;
        let keys = |table: &model::Table| table.rows.iter().map(|(key, _)| *key).collect::<Vec<_>>();
        judge(&watch, &model.table(), &Compare::ByPosition)?;
        let found = watch.with_now(|now| keys(&to_model(now)));
        if found != keys(&model.table()) {
            return Err(format!("row keys {found:?}, wanted {:?}", keys(&model.table())));
        }
    }
    Ok(())
}

/// A raw step as the model takes it.
fn step_of(raw: &RawStep) -> InputStep {
    let columns: Vec<Vec<Cell>> = raw.added.1.iter().map(cells_of).collect();
    let row = |at: usize| columns.iter().map(|cells| value_of(&cells[at])).collect();
    let modified = raw.modified.1.iter().flat_map(|(column, array)| {
        let cells = raw.modified.0.iter().zip(cells_of(array));
        cells.map(|(key, cell)| (key, NAMES[*column].to_owned(), value_of(&cell))).collect::<Vec<_>>()
    });
    InputStep {
        removed: raw.removed.to_vec(),
        shifts: raw.shifts.clone(),
        added: raw.added.0.iter().enumerate().map(|(at, key)| (key, row(at))).collect(),
        modified: modified.collect(),
    }
}

/// A clock that stands still, goes on a little, or leaps, and a table that follows it.
fn ticking(tape: &mut Tape) -> Result<(), String> {
    const NOW: i64 = 1_700_000_000_123_456_789;
    let clock = ManualTime::starting_at(NOW);
    let graph = UpdateGraph::with_time(settings(tape), Clock::Manual(clock.clone()));
    let period = *tape.choose(&[1_000_000_000_i64, 1, 7, 1_000_000, 86_400_000_000_000]);
    let blink = tape.chance(100);
    let start = match tape.below(3) {
        0 => None,
        1 => Some(NOW - tape.below(20) as i64 * period - tape.below(3) as i64),
        _ => Some(NOW + tape.below(4) as i64 * period + tape.below(3) as i64),
    };
    let table = TimeTable::new(&graph, Duration::from_nanos(period as u64), start, blink);
    let table = table.map_err(|error| error.to_string())?;
    let watch = Watch::attach(&table).map_err(|error| error.to_string())?;
    let mut model = TimeSource::new(period, start, NOW, blink);
    for _ in 0..10 {
        let passes = tape.below(4) * period as u64 + *tape.choose(&[0, 1, period as u64 / 2, period as u64 - 1]);
        clock.advance(Duration::from_nanos(passes));
        count_step();
        graph.step().map_err(|error| error.to_string())?;
        model.step(clock.epoch_nanos());
        judge(&watch, &model.table(), &Compare::ByPosition)?;
    }
    Ok(())
}

/// Rows as they came, in chunks of any sizes: all of them, some of them, and a copy.
fn still(tape: &mut Tape) -> Result<(), String> {
    let mut bed = Bed::new(tape);
    let (mut chunks, mut wanted) = (vec![Vec::new(); NAMES.len()], AppendSource::new(&NAMES));
    for _ in 0..tape.below(4) {
        let (batch, rows) = bed.rows(tape);
        chunks.iter_mut().zip(batch.columns()).for_each(|(column, cells)| column.push(cells.clone()));
        wanted.append(rows);
    }
    let wanted = wanted.table();
    count_step();
    let table = from_chunks(bed.schema.clone(), chunks, wanted.rows.len() as u64).map_err(|error| error.to_string())?;
    let same = |table: &engine::Table, wanted: &model::Table| {
        judge(&Watch::attach(table).map_err(|error| error.to_string())?, wanted, &Compare::ByPosition)
    };
    same(&table, &wanted)?;
    let (places, rows): (Vec<u64>, Vec<_>) = (0_u64..).zip(wanted.rows.clone()).filter(|_| tape.chance(128)).unzip();
    let some = selected("filter", &table, RowSet::from_sorted_keys(&places)).map_err(|error| error.to_string())?;
    let wanted_of_some = model::Table { rows, ..wanted.clone() };
    same(&some, &wanted_of_some)?;
    let copies = snapshot(&[table, some]).map_err(|error| error.to_string())?;
    same(&copies[0], &wanted)?;
    same(&copies[1], &wanted_of_some)
}

#[test]
fn the_law_covers_every_source_that_is_registered() {
    let registered = include_str!("registry.txt").lines().filter_map(|line| line.split('|').next());
    let registered: BTreeSet<&str> =
        registered.map(str::trim).filter(|name| name.ends_with("_table") || *name == "static").collect();
    assert_eq!(SOURCES.iter().map(|source| source.name).collect::<BTreeSet<_>>(), registered);
}
