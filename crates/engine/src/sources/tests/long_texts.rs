//! Calls with texts as long as a buffer of a block, several of them in a step, many in a block: each call is taken whole
//! or refused whole, and what was taken is what the tables show.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use limits::Scope;

use super::super::Token;
use super::*;
use crate::testing::Tape;

/// Lengths of texts, most of them about that of the shortest buffer that is drawn.
const LENGTHS: [usize; 8] = [0, 5, 13, 30_000, 60_000, 65_535, 65_536, 65_537];

type Row = (String, i64);

fn long(rows: &[Row]) -> RecordBatch {
    batch(&rows.iter().map(|(text, number)| (text.as_str(), *number)).collect::<Vec<_>>())
}

/// Whether texts of this length are stored, told by the column itself.
fn stored(length: usize) -> bool {
    column::types::fits(&(Arc::new(arrow_array::StringViewArray::from(vec!["x".repeat(length)])) as ArrayRef)).is_ok()
}

fn draw(tape: &mut Tape, most: u64) -> Vec<Row> {
    let text = |tape: &mut Tape| {
        let letter = char::from(b'a' + tape.below(26) as u8);
        String::from(letter).repeat(LENGTHS[tape.below(LENGTHS.len() as u64) as usize])
    };
    (0..tape.below(most)).map(|_| (text(tape), tape.below(12) as i64)).collect()
}

/// Rows by key, read as a whole and in pieces.
fn read(table: &Table) -> Vec<(u64, Row)> {
    let view = table.view().unwrap();
    let column = |at: usize| {
        let column = view.column(at).unwrap();
        let whole = column.read(view.rows()).unwrap();
        let pieces = column.pieces(view.rows()).unwrap();
        whole.to_data().validate_full().unwrap();
        assert_eq!(&column::kernels::concat(whole.data_type(), &pieces).unwrap(), &whole);
        whole
    };
    let (texts, numbers) = (column(0), column(1));
    let (texts, numbers) = (texts.as_string_view(), numbers.as_primitive::<Int64Type>());
    let row = |(at, key): (usize, u64)| (key, (texts.value(at).to_owned(), numbers.value(at)));
    view.rows().iter().enumerate().map(row).collect()
}

/// The four tables and what they hold, by what each is addressed by.
struct World {
    graph: UpdateGraph,
    append: AppendTable,
    keyed: KeyedTable,
    input: InputTable,
    blink: BlinkTable,
    appended: Vec<Row>,
    by_number: BTreeMap<i64, String>,
    by_key: BTreeMap<u64, Row>,
    blinked: Vec<Row>,
    next: u64,
}

impl World {
    fn new() -> World {
        let graph = still_graph();
        World {
            append: AppendTable::new(&graph, schema()).unwrap(),
            keyed: KeyedTable::new(&graph, schema(), &["v".to_owned()]).unwrap(),
            input: InputTable::new(&graph, schema()).unwrap(),
            blink: BlinkTable::new(&graph, schema()).unwrap(),
            graph,
            appended: Vec::new(),
            by_number: BTreeMap::new(),
            by_key: BTreeMap::new(),
            blinked: Vec::new(),
            next: 0,
        }
    }

    /// One call of one of the tables; it is taken if each of its texts can be stored.
    fn call(&mut self, tape: &mut Tape) {
        let rows = draw(tape, 7);
        let fits = rows.iter().all(|(text, _)| stored(text.len()));
        let which = tape.below(5);
        let taken = match which {
            0 => self.append.append(&long(&rows)).map(drop),
            1 => self.keyed.upsert(&long(&rows)).map(drop),
            2 => self.blink.append(&long(&rows)).map(drop),
            _ => self.apply(tape, &rows).map(drop),
        };
        match &taken {
            Ok(()) => assert!(fits),
            Err(error) => assert!(!fits && matches!(error, Error::Resource { .. }), "{error}"),
        }
        match which {
            0 if fits => self.appended.extend(rows),
            1 if fits => self.by_number.extend(rows.into_iter().map(|(text, number)| (number, text))),
            2 if fits => self.blinked.extend(rows),
            _ => {}
        }
    }

    /// New rows, here and there one that changes and one that goes.
    fn apply(&mut self, tape: &mut Tape, rows: &[Row]) -> Result<Token, Error> {
        let there: Vec<u64> = self.by_key.keys().copied().collect();
        let removed = there.iter().copied().find(|_| tape.chance(20));
        let changed = there.iter().copied().find(|key| Some(*key) != removed && tape.chance(50));
        let (first, rest) = if changed.is_some() { rows.split_at(rows.len().min(1)) } else { (&[][..], rows) };
        let changed = changed.filter(|_| !first.is_empty());
        let added: Vec<u64> = (self.next..).take(rest.len()).collect();
        let apply = Apply {
            added: Some((added.iter().copied().collect(), long(rest))),
            modified: changed.map(|key| ([key].into_iter().collect(), long(first))),
            removed: removed.into_iter().collect(),
            ..Apply::default()
        };
        let token = self.input.apply(apply)?;
        self.next += rest.len() as u64;
        removed.map(|key| self.by_key.remove(&key));
        self.by_key.extend(changed.into_iter().chain(added).zip(first.iter().chain(rest).cloned()));
        Ok(token)
    }

    fn step(&mut self) {
        self.graph.step().unwrap();
        count_step();
        let rows = |table: &Table| read(table).into_iter().map(|(_, row)| row).collect::<Vec<_>>();
        assert!(rows(self.append.table()) == self.appended, "appended rows");
        assert!(rows(self.blink.table()) == std::mem::take(&mut self.blinked), "rows of this step");
        let keyed: BTreeMap<i64, String> =
            rows(self.keyed.table()).into_iter().map(|(text, number)| (number, text)).collect();
        assert!(keyed == self.by_number, "rows by number");
        assert!(read(self.input.table()).into_iter().collect::<BTreeMap<_, _>>() == self.by_key, "rows by key");
    }
}

#[test]
fn law_of_calls_with_long_texts() {
    explore(30, |tape| {
        Scope::drawn(tape.below(1 << 16)).enter(|| {
            let mut world = World::new();
            for _ in 0..5 {
                (0..tape.below(9)).for_each(|_| world.call(tape));
                world.step();
            }
        });
        Ok(())
    });
}

#[test]
fn calls_that_fit_each_by_itself_fit_together() {
    let small = (1..).map(Scope::drawn).find(|scope| scope.enter(|| stored(65_536) && !stored(65_537)));
    small.expect("some seed draws it").enter(|| {
        let mut world = World::new();
        for step in 0..3 {
            for call in 0..4 {
                let rows: Vec<Row> =
                    (0..3).map(|at| ("x".repeat(65_536 - at), step * 100 + call * 10 + at as i64)).collect();
                world.append.append(&long(&rows)).unwrap();
                world.keyed.upsert(&long(&rows)).unwrap();
                world.blink.append(&long(&rows)).unwrap();
                world.by_number.extend(rows.iter().map(|(text, number)| (*number, text.clone())));
                world.appended.extend(rows.iter().cloned());
                world.blinked.extend(rows);
            }
            world.step();
        }
    });
}
