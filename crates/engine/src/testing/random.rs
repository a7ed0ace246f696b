//! A whole random case: tables of given columns, in random styles and layouts, and their steps.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::draw::{draw_table, table};
use super::keys::{LAYOUTS, Layout};
use super::mirror::{Mirror, RawStep};
use super::plain::{Cell, Plain};
use super::steps::{PROFILES, Profile, StepMaker};
use super::tape::Tape;
use super::values::{STYLES, Style, Values};

/// The columns of a random table, and the styles their cells may come in.
#[derive(Clone, Debug)]
pub struct TableSpec {
    columns: Vec<(String, DataType, Vec<Style>)>,
    most_rows: usize,
    most_steps: u64,
    profiles: Vec<Profile>,
    layouts: Vec<Layout>,
    /// Rows live for a step; whether all of them are remembered.
    blink: Option<bool>,
    /// The column that tells rows apart, for a keyed source.
    keyed: Option<usize>,
    /// For a source that appends and says so.
    appends: bool,
    /// Values are made of row keys: they change where rows only move.
    keys_are_values: bool,
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `input_table`.
    Input,
    /// `append_table`.
    Append,
    /// `keyed_table`.
    Keyed,
    /// `blink_table`.
    Blink,
    /// `table`: rows that are there from the start, and stay.
    Static,
}

/// A table with a column of each common type: `k` text, `g` and `v` Int64, `x` Float64, `t`
/// Timestamp, `b` Boolean.
pub fn any_table() -> TableSpec {
    table_of("k:str g:int v:int x:float t:time b:bool")
}

/// A table of these columns: `name:type` with the types of drawings (see `draw`).
pub fn table_of(columns: &str) -> TableSpec {
    let column = |word: &str| {
        let (name, kind) = word.split_once(':').unwrap_or((word, "int"));
        (name.to_owned(), type_of(kind), STYLES.to_vec())
    };
    let columns = columns.split_whitespace().map(column).collect();
    TableSpec {
        columns,
        most_rows: 40,
        most_steps: 14,
        profiles: PROFILES.to_vec(),
        layouts: LAYOUTS.to_vec(),
        blink: None,
        keyed: None,
        appends: false,
        keys_are_values: false,
    }
}

/// The short names of all types that tables are made of.
pub const KINDS: [&str; 26] = [
    "i32", "str", "bool", "i8", "i16", "int", "u8", "u16", "u32", "uint", "f16", "f32", "float", "bytes", "date",
    "clock", "time", "naive", "berlin", "millis", "duration", "decimal", "fixed", "dict", "list", "struct",
];

/// The type behind a short name.
pub fn type_of(kind: &str) -> DataType {
    match kind {
        "bool" => DataType::Boolean,
        "i8" => DataType::Int8,
        "i16" => DataType::Int16,
        "i32" => DataType::Int32,
        "int" => DataType::Int64,
        "u8" => DataType::UInt8,
        "u16" => DataType::UInt16,
        "u32" => DataType::UInt32,
        "uint" => DataType::UInt64,
        "f16" => DataType::Float16,
        "f32" => DataType::Float32,
        "float" => DataType::Float64,
        "str" => DataType::Utf8,
        "bytes" => DataType::Binary,
        "date" => DataType::Date32,
        "clock" => DataType::Time64(TimeUnit::Nanosecond),
        "time" => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        "naive" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "berlin" => DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
        "millis" => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        "duration" => DataType::Duration(TimeUnit::Nanosecond),
        "decimal" => DataType::Decimal128(12, 2),
        "fixed" => DataType::FixedSizeBinary(8),
        "dict" => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        "list" => DataType::List(Arc::new(Field::new("item", DataType::Int64, true))),
        "struct" => {
            let fields = [("x", DataType::Int32), ("y", DataType::Utf8)];
            DataType::Struct(fields.map(|(name, kind)| Field::new(name, kind, true)).into_iter().collect())
        }
        other => panic!("no type is called {other:?} in tests"),
    }
}

impl TableSpec {
    /// Lets a column come in these styles only.
    pub fn styled(mut self, name: &str, styles: &[Style]) -> TableSpec {
        let column = self.columns.iter_mut().find(|column| column.0 == name).expect("the column is there");
        column.2 = styles.to_vec();
        self
    }

    /// Lets a column hold no value from the pool of odd ones.
    pub fn tame(self, name: &str) -> TableSpec {
        self.styled(name, &[Style::Skewed, Style::Unique, Style::Constant, Style::Sorted, Style::NullHeavy])
    }

    /// At most so many rows; 40 otherwise.
    pub fn rows(mut self, most: usize) -> TableSpec {
        self.most_rows = most;
        self
    }

    /// At most so many steps; 14 otherwise.
    pub fn steps(mut self, most: u64) -> TableSpec {
        self.most_steps = most;
        self
    }

    /// Only steps that append, as for a table whose contract says so.
    pub fn append_only(mut self) -> TableSpec {
        self.profiles = vec![Profile::Append, Profile::Refill, Profile::Nothing];
        self
    }

    /// Only the row keys 0, 1, 2, …
    pub fn dense(mut self) -> TableSpec {
        self.layouts = vec![Layout::Dense];
        self
    }

    /// Only these profiles.
    pub fn profiles(mut self, profiles: &[Profile]) -> TableSpec {
        self.profiles = profiles.to_vec();
        self
    }

    /// Only rows that live for one step. The oracle is given those of the step or, where an operation accumulates, all
    /// since the operation was made.
    pub fn blink(mut self, remembered: bool) -> TableSpec {
        self.blink = Some(remembered);
        self
    }

    /// Whether its rows live for one step.
    pub fn is_blink(&self) -> bool {
        self.blink.is_some()
    }

    /// The first column whose cells can tell rows apart.
    pub fn key(&self) -> Option<usize> {
        let tells = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::Int64);
        self.columns.iter().position(|(_, kind, _)| tells(kind))
    }

    /// As a source of this kind takes it.
    pub fn fit_for(&self, kind: Kind) -> TableSpec {
        let mut spec = self.clone();
        match kind {
            Kind::Input => return spec,
            Kind::Append | Kind::Blink | Kind::Static => {
                spec = spec.append_only();
                spec.appends = kind == Kind::Append;
            }
            Kind::Keyed => {
                let key = self.key().expect("a keyed table has a key");
                spec.columns[key].2 = vec![Style::Unique];
                spec.keyed = Some(key);
                let changes = [Profile::Append, Profile::Modify, Profile::Remove, Profile::Refill, Profile::Clear];
                spec.profiles = changes.into_iter().chain([Profile::SameAgain, Profile::Nothing]).collect();
            }
        }
        spec.dense()
    }

    /// Names and types.
    pub fn schema(&self) -> Arc<Schema> {
        let fields = self.columns.iter().map(|(name, data_type, _)| Field::new(name, data_type.clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// For an operation that makes values of row keys: where rows only move, rows below are modified, and the keys are those that
    /// the steps say.
    pub fn keys_are_values(mut self) -> TableSpec {
        self.keys_are_values = true;
        self
    }

    /// Whether rows below may be modified where rows only move.
    pub fn moves_change_values(&self) -> bool {
        self.keys_are_values
    }

    /// The most steps a case over this table takes.
    pub fn most_steps(&self) -> u64 {
        self.most_steps
    }
}

/// One random table and the writer of its steps.
pub struct Case {
    /// The table by hand.
    pub mirror: Mirror,
    maker: StepMaker,
    kind: Kind,
    keyed: Option<usize>,
    /// All rows since the operation was made, where they are remembered.
    seen: Option<Vec<Vec<Cell>>>,
}

impl Case {
    /// Styles and layout from the tape, and a random part of the profiles switched off: a case that
    /// never removes finds other faults than one that always does.
    pub fn new(spec: &TableSpec, tape: &mut Tape) -> Case {
        let layout = *tape.choose(&spec.layouts);
        // The plainest style as often as all others together: keys of two tables should meet.
        let values = spec.columns.iter().map(|(_, data_type, styles)| {
            let style = if tape.chance(128) { *tape.choose(styles) } else { styles[0] };
            Values::new(data_type, style)
        });
        let values: Vec<Values> = values.collect();
        // Of 256. With few profiles two tables often do at once what otherwise they hardly ever do at once.
        let kept = *tape.choose(&[156, 156, 60, 30]);
        let mut profiles: Vec<Profile> = Vec::new();
        for (at, profile) in spec.profiles.iter().enumerate() {
            // The plainest stays, so that a tape shrinks towards it.
            if at == 0 || tape.chance(kept) {
                profiles.push(*profile);
            }
        }
        if !profiles
            .iter()
            .any(|profile| matches!(profile, Profile::Append | Profile::Refill | Profile::Insert | Profile::Prepend))
        {
            profiles.insert(0, *spec.profiles.first().expect("a table has profiles"));
        }
        // Few rows tell of a change that among many would be told of by another row.
        let most_rows = spec.most_rows.min(*tape.choose(&[usize::MAX, usize::MAX, 3, 8]));
        let kind = match (spec.blink, spec.keyed) {
            (Some(_), _) => Kind::Blink,
            (None, Some(_)) => Kind::Keyed,
            (None, None) => Kind::Input,
        };
        let kind = if spec.appends && kind == Kind::Input { Kind::Append } else { kind };
        let maker = StepMaker::new(layout, profiles, values, most_rows).fixing(spec.keyed);
        let seen = (spec.blink == Some(true)).then(Vec::new);
        Case { mirror: Mirror::new(spec.schema()), maker, kind, keyed: spec.keyed, seen }
    }

    /// The case of a static table: the rows of its first steps, and none after them.
    pub fn still(mut self, tape: &mut Tape) -> Case {
        (0..tape.below(5)).for_each(|_| _ = self.step(tape));
        let maker = StepMaker::new(Layout::Dense, vec![Profile::Nothing], Vec::new(), 0);
        Case { maker, kind: Kind::Static, ..self }
    }

    /// The source that it is for, as a line of text: with its rows, if it has them from the start.
    pub fn told(&self) -> String {
        let kind = match (self.kind, &self.seen) {
            (Kind::Static, _) => return format!("static 0 {}", draw_table(&self.mirror)),
            (Kind::Input, _) => "input",
            (Kind::Append, _) => "append",
            (Kind::Keyed, _) => "keyed",
            (Kind::Blink, None) => "blink",
            (Kind::Blink, Some(_)) => "remembered",
        };
        format!("{kind} {} {}", self.keyed.unwrap_or(0), draw_table(&Mirror::new(self.mirror.schema.clone())))
    }

    /// A case of such a line, whose steps are told as well.
    pub fn read(line: &str) -> Case {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} is no input"));
        let (kind, key, header) = (word(), word(), word());
        let (kind, seen) = match kind {
            "input" => (Kind::Input, None),
            "append" => (Kind::Append, None),
            "keyed" => (Kind::Keyed, None),
            "blink" => (Kind::Blink, None),
            "remembered" => (Kind::Blink, Some(Vec::new())),
            "static" => (Kind::Static, None),
            other => panic!("no source is called {other:?}"),
        };
        let keyed = (kind == Kind::Keyed).then(|| key.parse().expect("the place of a column"));
        let maker = StepMaker::new(Layout::Dense, vec![Profile::Nothing], Vec::new(), 0);
        Case { mirror: table(header), maker, kind, keyed, seen }
    }

    /// The kind of its source.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The column that tells rows apart, for a keyed source.
    pub fn keyed(&self) -> Option<usize> {
        self.keyed
    }

    /// The next step; the mirror has taken it.
    pub fn step(&mut self, tape: &mut Tape) -> RawStep {
        let step = self.maker.step(tape, &self.mirror);
        self.take(step)
    }

    /// The mirror takes a step.
    pub fn take(&mut self, mut step: RawStep) -> RawStep {
        let gone = self.keyed.map(|column| (column, self.mirror.arrays_of(&step.removed)[column].clone()));
        self.mirror.apply(&step);
        let changed = |(column, gone)| super::mirror::KeyedStep {
            column,
            gone,
            changed: self.mirror.arrays_of(&step.modified.0),
        };
        step.keyed = gone.map(changed);
        if let Some(seen) = &mut self.seen {
            seen.extend(step.added.0.iter().map(|key| self.mirror.rows[&key].clone()));
        }
        step
    }

    /// Before what is queued for the next cycle: rows that live for one are gone then. Returns whether there were any.
    pub fn open_cycle(&mut self) -> bool {
        let gone = self.kind == Kind::Blink && !self.mirror.rows.is_empty();
        if gone {
            self.mirror.rows.clear();
        }
        gone
    }

    /// The operation is made now: what it did not see is not remembered.
    pub fn forget(&mut self) {
        if let Some(seen) = &mut self.seen {
            *seen = self.mirror.rows.values().cloned().collect();
        }
    }

    /// What an oracle is given.
    pub fn plain(&self) -> Plain {
        match &self.seen {
            None => self.mirror.plain(),
            Some(seen) => Plain { schema: self.mirror.schema.clone(), rows: (0..).zip(seen.iter().cloned()).collect() },
        }
    }

    /// How the source's table differs from the mirror; keys are compared where the case chose them.
    pub fn first_difference(&self, found: &Plain) -> Option<String> {
        let wanted = self.mirror.plain();
        if matches!(self.kind, Kind::Input | Kind::Append | Kind::Static) {
            wanted.first_difference(found)
        } else {
            wanted.first_difference_in_order(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_one_case() {
        let run = |seed| {
            let mut tape = Tape::seeded(seed);
            let mut case = Case::new(&any_table(), &mut tape);
            (0..10).for_each(|_| _ = case.step(&mut tape));
            case.mirror.plain().to_string()
        };
        assert_eq!(run(4), run(4));
        assert!((0..20).any(|seed| run(seed) != run(4)));
    }

    #[test]
    fn most_cases_have_rows_and_some_have_many() {
        let sizes: Vec<usize> = (0..100)
            .map(|seed| {
                let mut tape = Tape::seeded(seed);
                let mut case = Case::new(&any_table(), &mut tape);
                (0..10).for_each(|_| _ = case.step(&mut tape));
                case.mirror.rows.len()
            })
            .collect();
        assert!(sizes.iter().filter(|size| **size > 0).count() > 50, "{sizes:?}");
        assert!(sizes.iter().any(|size| *size > 20), "{sizes:?}");
    }

    #[test]
    fn append_only_steps_only_append() {
        for seed in 0..30 {
            let mut tape = Tape::seeded(seed);
            let mut case = Case::new(&any_table().append_only(), &mut tape);
            for _ in 0..8 {
                let last = case.mirror.rows.keys().next_back().copied();
                let step = case.step(&mut tape);
                assert!(step.removed.is_empty() && step.modified.0.is_empty() && step.shifts.is_empty());
                assert!(step.added.0.is_empty() || step.added.0.first() > last);
            }
        }
    }
}
