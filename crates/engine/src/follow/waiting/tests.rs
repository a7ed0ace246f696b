//! The law of slow followers: the changes that a follower has received give the table as it was at that step, and the
//! changes that wait for all followers are bounded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::{Follows, Message, Shared, Waiting};
use crate::error::Failure;
use crate::follow::listener::{Listener, Part, Subscription, UpdateEvent};
use crate::table::handle::Table;
use crate::testing::explore::{count_step, explore};
use crate::testing::feeds::Source;
use crate::testing::plain::{Cell, cells_of};
use crate::testing::tape::Tape;
use crate::testing::{Drawn, any_table, still_graph};

/// Cells by row key, of some columns.
pub(crate) type Rows = BTreeMap<u64, Vec<Cell>>;

/// Applies a change to rows; fails if the change does not fit them.
pub(crate) fn play(rows: &mut Rows, delivered: &UpdateEvent, columns: &[usize]) -> Result<(), String> {
    let update = delivered.update();
    let part = |part: Part| -> Result<Vec<Vec<Cell>>, String> {
        let read =
            |at: &usize| delivered.read(part, *at).map(|cells| cells_of(&cells)).map_err(|error| error.to_string());
        let columns = columns.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let row = |row: usize| columns.iter().map(|cells| cells[row].clone()).collect();
        Ok((0..delivered.rows_in(part) as usize).map(row).collect())
    };
    let same = |one: &[Cell], two: &[Cell]| one.iter().zip(two).all(|(one, two)| one.same(two));
    for (key, old) in update.removed.0.iter().zip(part(Part::Removed)?) {
        let was = rows.remove(&key).ok_or(format!("removed row {key} is not there"))?;
        if !same(&was, &old) {
            return Err(format!("removed row {key} was {was:?}, told {old:?}"));
        }
    }
    *rows = std::mem::take(rows).into_iter().map(|(key, row)| (update.shifts.forward_key(key), row)).collect();
    let modified = part(Part::Modified)?.into_iter().zip(part(Part::ModifiedBefore)?);
    for (key, (new, old)) in update.modified.iter().zip(modified) {
        let row = rows.get_mut(&key).ok_or(format!("modified row {key} is not there"))?;
        if !same(row, &old) {
            return Err(format!("modified row {key} was {row:?}, told {old:?}"));
        }
        *row = new;
    }
    for (key, new) in update.added.iter().zip(part(Part::Added)?) {
        if rows.insert(key, new).is_some() {
            return Err(format!("added row {key} is there already"));
        }
    }
    Ok(())
}

/// One who follows a table, in some of its columns.
struct Hearer {
    columns: Vec<usize>,
    /// The rows as of the last change received.
    rows: Mutex<Rows>,
}

impl Follows for Hearer {
    fn columns(&self) -> Option<&[usize]> {
        Some(&self.columns)
    }
}

struct Hall(Mutex<Waiting<Hearer>>);

impl Shared<Hearer> for Hall {
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<Hearer>) -> R) -> R {
        run(&mut self.0.lock().unwrap())
    }
}

/// The listener that the engine calls on behalf of a hearer.
struct TableListener {
    hall: Arc<Hall>,
    hearer: Arc<Hearer>,
    table: usize,
}

impl Listener for TableListener {
    fn on_update(&self, delivered: Arc<UpdateEvent>) {
        self.hall.with(|waiting| waiting.change(self.table, self.hearer.clone(), delivered));
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        panic!("{}", failure.cause);
    }
}

fn rows_of(table: &Table, columns: &[usize]) -> Rows {
    let view = table.view().unwrap();
    let read = |at: &usize| cells_of(&view.read(*at, view.rows()).unwrap());
    let columns: Vec<Vec<Cell>> = columns.iter().map(read).collect();
    view.rows()
        .iter()
        .enumerate()
        .map(|(at, key)| (key, columns.iter().map(|cells| cells[at].clone()).collect()))
        .collect()
}

fn same_rows(one: &Rows, two: &Rows) -> bool {
    let same = |(one, two): ((&u64, &Vec<Cell>), (&u64, &Vec<Cell>))| {
        one.0 == two.0 && one.1.iter().zip(two.1).all(|(one, two)| one.same(two))
    };
    one.len() == two.len() && one.iter().zip(two).all(same)
}

/// Delivers up to `most` of the waiting changes, and checks that each hearer sees the table of that step.
fn hear(hall: &Hall, most: usize, past: &BTreeMap<u64, Rows>) -> Result<(), String> {
    for _ in 0..most {
        let Some((hearer, word)) = hall.with(Waiting::take) else { return Ok(()) };
        let Message::Update(delivered) = word else { return Err("a failure".into()) };
        let mut rows = hearer.rows.lock().unwrap();
        play(&mut rows, &delivered, &hearer.columns)?;
        let pick = |row: &Vec<Cell>| hearer.columns.iter().map(|at| row[*at].clone()).collect();
        let then: Rows = past[&delivered.step()].iter().map(|(key, row)| (*key, pick(row))).collect();
        if !same_rows(&rows, &then) {
            return Err(format!("at step {}: {rows:?}, where the table was {then:?}", delivered.step()));
        }
        hall.with(Waiting::heard);
    }
    Ok(())
}

fn run(tape: &mut Tape) -> Result<(), String> {
    let sizes = limits::Scope::drawn(tape.word());
    sizes.enter(|| followed(tape))
}

fn followed(tape: &mut Tape) -> Result<(), String> {
    let graph = still_graph();
    let (source, mut case) = Source::draw(&graph, &any_table(), tape).map_err(|error| error.to_string())?;
    let table = source.table().clone();
    let schema = table.schema().clone();
    let all: Vec<usize> = (0..table.width()).collect();
    let hall = Arc::new(Hall(Mutex::default()));
    let mut hearers: Vec<(Arc<Hearer>, Subscription)> = Vec::new();
    let mut past = BTreeMap::new();
    let mut came = 0;
    for _ in 0..12 {
        if hearers.len() < 4 && tape.chance(120) {
            let columns: Vec<usize> = all.iter().copied().filter(|_| !tape.chance(60)).collect();
            let hearer = Arc::new(Hearer { rows: Mutex::new(rows_of(&table, &columns)), columns });
            let listener = TableListener { hall: hall.clone(), hearer: hearer.clone(), table: table.identity() };
            let following = table.subscribe(Arc::new(listener), false).map_err(|error| error.to_string())?;
            hearers.push((hearer, following));
            came += 1;
        }
        if !hearers.is_empty() && tape.chance(20) {
            let (hearer, following) = hearers.swap_remove(tape.below(hearers.len() as u64) as usize);
            following.cancel();
            drop(hall.with(|waiting| waiting.forget(&hearer)));
        }
        let step = case.step(tape);
        if !step.is_empty() {
            count_step();
            source.apply(&step, &schema).map_err(|error| error.to_string())?;
        }
        hall.materialize_pending();
        let waiting = hall.with(|waiting| waiting.changes_of(table.identity()));
        let most = crate::sizes::WAITING.get() + came + 3;
        if waiting > most {
            return Err(format!("{waiting} changes wait, where {most} are the most"));
        }
        graph.step().map_err(|error| error.to_string())?;
        past.insert(graph.settled().number(), rows_of(&table, &all));
        hear(&hall, if tape.chance(100) { tape.below(6) as usize } else { 0 }, &past)?;
    }
    hear(&hall, usize::MAX, &past)?;
    for (hearer, _) in &hearers {
        let now = rows_of(&table, &hearer.columns);
        if !same_rows(&hearer.rows.lock().unwrap(), &now) {
            return Err(format!("in the end {:?}, where the table is {now:?}", hearer.rows));
        }
    }
    let (empty, bytes) = hall.with(|waiting| (waiting.is_empty(), waiting.bytes()));
    if !empty || bytes != 0 { Err(format!("{bytes} bytes are left")) } else { Ok(()) }
}

#[test]
fn law() {
    explore(400, run);
}

/// A table of 50 rows, all written in each step, and followers that receive nothing.
fn written(followers: usize, steps: u64, text: impl Fn(u64) -> String) -> (Arc<Hall>, Vec<Subscription>, usize) {
    let graph = still_graph();
    let drawing: Vec<String> = (0..50).map(|row| format!("{row} A {row}")).collect();
    let drawn = Drawn::new(&graph, &drawing.join(" | "));
    let table = drawn.table().clone();
    let hall = Arc::new(Hall(Mutex::default()));
    let following = (0..followers).map(|at| {
        let hearer =
            Arc::new(Hearer { columns: if at % 2 == 0 { vec![0, 1] } else { vec![1] }, rows: Mutex::default() });
        table.subscribe(Arc::new(TableListener { hall: hall.clone(), hearer, table: table.identity() }), false).unwrap()
    });
    let following: Vec<Subscription> = following.collect();
    for step in 0..steps {
        hall.materialize_pending();
        let rows: Vec<String> = (0..50).map(|row| format!("~ {row} {} {step}", text(step))).collect();
        drawn.apply(&rows.join(" | "));
        graph.step().unwrap();
    }
    hall.materialize_pending();
    (hall, following, table.identity())
}

#[test]
fn many_late_followers_cost_what_one_does() {
    let sizes = (1..).map(limits::Scope::drawn).find(|scope| scope.enter(|| crate::sizes::WAITING.get()) == 7).unwrap();
    sizes.enter(|| {
        let of = |followers, steps| {
            let (hall, _following, table) = written(followers, steps, |step| format!("text{step}longerthantwelve"));
            hall.with(|waiting| (waiting.bytes(), waiting.changes_of(table)))
        };
        let (one, changes) = of(1, 40);
        assert!(changes <= 9, "{changes}");
        assert_eq!(of(20, 40).0, of(2, 40).0, "rows are kept once");
        // Ten times as many steps over the same rows, in the same room: also the bytes of texts that were overwritten.
        let (later, _) = of(2, 400);
        assert!(later < 2 * one, "{later} of {one}");
    });
}

/// The neighbours with the fewest bytes are coalesced first, so the bytes copied per change grow with the logarithm of
/// the number of changes.
#[test]
fn what_is_copied_is_in_proportion_to_what_came() {
    use super::line::{Line, Place};

    let sizes =
        (1..).map(limits::Scope::drawn).find(|scope| scope.enter(|| crate::sizes::WAITING.get()) == 64).unwrap();
    sizes.enter(|| {
        for crowded in [true, false] {
            let (mut line, mut copied) = (Line::default(), 0);
            for at in 1..=16_384 {
                line.push(Place { at, audience: 1, bytes: 1, owned: true });
                while let Some((older, newer)) = line.neighbours(!crowded).filter(|_| !crowded || line.len() > 64) {
                    let bytes = line.remove(older);
                    let place = line.place(newer).unwrap();
                    place.bytes += bytes;
                    copied += place.bytes;
                }
            }
            assert!(line.len() <= 64 && copied <= 16_384 * 20, "{} wait, {copied} copied", line.len());
        }
    });
}
