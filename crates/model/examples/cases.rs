//! Random static cases and what the model makes of them, a line of JSON each: for other engines to check it by.
//!
//!     cargo run -p tickframe-model --example cases -- 2000 7
//!
//! Cells: null, booleans and integers as they are, text as "s:…", floats as "f:…", a float within bounds as "n:value:bound".

use model::ops::{self, Aggregate, Aggregator, Asof, Derived, NaturalJoin, SecondMatch, SortBy, Strategy};
use model::{Arith, Comparison, ModelExpr, Row, Table, Value};

/// A generator that anyone can write again (splitmix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }

    fn choose<T: Clone>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize].clone()
    }
}

/// Columns of the left table and of the right one.
const LEFT: [&str; 6] = ["k", "g", "v", "x", "t", "b"];
const RIGHT: [&str; 3] = ["k", "t", "w"];

fn cell(random: &mut Random, column: &str, odd: bool) -> Value {
    if random.below(7) == 0 {
        return Value::Null;
    }
    match column {
        "k" => Value::Str(random.choose(&["a", "b", "c", "", "é"]).to_owned()),
        "g" => Value::Int(random.below(3) as i64),
        "v" => Value::Int(random.below(21) as i64 - 10),
        "t" => Value::Int(random.below(9) as i64),
        "b" => Value::Bool(random.below(2) == 0),
        _ if odd && random.below(4) == 0 => {
            Value::Float(random.choose(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]))
        }
        _ => Value::Float(random.below(41) as f64 * 0.25 - 5.0),
    }
}

fn table(random: &mut Random, names: &[&str], odd: bool) -> Table {
    let many = random.below(14);
    let row = |random: &mut Random| -> Row { names.iter().map(|name| cell(random, name, odd)).collect() };
    let rows = (0..many).map(|_| row(random)).collect();
    Table::flat(names.iter().map(|name| (*name).to_owned()).collect(), rows)
}

fn text(letters: &str) -> String {
    let mut out = String::from("\"");
    for letter in letters.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    out + "\""
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(x) => x.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Float(x) => text(&format!("f:{x:?}")),
        Value::Near(x, bound) => text(&format!("n:{x:?}:{bound:?}")),
        Value::Str(x) => text(&format!("s:{x}")),
        other => panic!("no case has {other:?}"),
    }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

fn shown(table: &Table) -> String {
    let rows = table.rows.iter().map(|(_, row)| list(row.iter().map(json)));
    format!("{{\"names\": {}, \"rows\": {}}}", list(table.names.iter().map(|name| text(name))), list(rows))
}

fn sorted(random: &mut Random, left: &Table) -> (String, Table) {
    let by: Vec<SortBy> = (0..1 + random.below(2))
        .map(|_| SortBy {
            column: random.choose(&LEFT).to_owned(),
            descending: random.below(2) == 0,
            nulls_last: random.below(2) == 0,
        })
        .collect();
    let args = by.iter().map(|by| format!("[{}, {}, {}]", text(&by.column), by.descending, by.nulls_last));
    (list(args), ops::sort(left, &by))
}

fn grouped(random: &mut Random, left: &Table) -> (String, Table) {
    let by: Vec<&str> = ["k", "g"].into_iter().filter(|_| random.below(3) > 0).collect();
    let known = [
        ("len", Aggregator::Len),
        ("count", Aggregator::Count),
        ("sum", Aggregator::Sum(0)),
        ("mean", Aggregator::Mean),
        ("min", Aggregator::Min),
        ("max", Aggregator::Max),
        ("var", Aggregator::Var(1)),
        ("std", Aggregator::Std(1)),
        ("first", Aggregator::First),
        ("last", Aggregator::Last),
    ];
    let outputs: Vec<(String, &str, Aggregator, &str)> = (0..1 + random.below(4))
        .map(|at| {
            let (name, aggregator) = random.choose(&known);
            (format!("o{at}"), name, aggregator, random.choose(&["v", "x"]))
        })
        .collect();
    let made: Vec<Aggregate> =
        outputs.iter().map(|(out, _, of, input)| Aggregate::new(out, of.clone(), input)).collect();
    let args = outputs.iter().map(|(out, name, _, input)| list([text(out), text(name), text(input)]));
    let args = format!("[{}, {}]", list(by.iter().map(|name| text(name))), list(args));
    (args, ops::aggregate(left, &by, &made).expect("numbers can be aggregated"))
}

fn joined(random: &mut Random, left: &Table, right: &Table) -> (String, Table) {
    let (word, second) = random.choose(&[("first", SecondMatch::First), ("last", SecondMatch::Last)]);
    let join = NaturalJoin { second, ..NaturalJoin::new(&["k"], &["w"]) };
    (text(word), ops::natural_join(left, right, &join).expect("a second match is no fault"))
}

fn joined_asof(random: &mut Random, left: &Table, right: &Table) -> (String, Table) {
    let (word, strategy) = random.choose(&[("backward", Strategy::Backward), ("forward", Strategy::Forward)]);
    let by: &[&str] = if random.below(2) == 0 { &["k"] } else { &[] };
    let exact = random.below(3) > 0;
    let join = Asof { strategy, allow_exact_matches: exact, ..Asof::new("t", "t", by, &["w"]) };
    let args = format!("[{}, {}, {exact}]", text(word), list(by.iter().map(|name| text(name))));
    (args, ops::join_asof(left, right, &join))
}

fn computed(random: &mut Random, left: &Table) -> (String, Table) {
    let (word, arith) = random.choose(&[
        ("+", Arith::Add),
        ("-", Arith::Subtract),
        ("*", Arith::Multiply),
        ("/", Arith::Divide),
        ("//", Arith::FloorDivide),
        ("%", Arith::Remainder),
    ]);
    let (a, b) = (random.choose(&["v", "g", "x"]), random.choose(&["v", "g", "x"]));
    let made = ModelExpr::Arith(arith, Box::new(ModelExpr::column(a)), Box::new(ModelExpr::column(b)));
    let args = list([text(a), text(word), text(b)]);
    (args, ops::select(left, &[Derived::expr("o", made)]))
}

fn filtered(random: &mut Random, left: &Table, odd: bool) -> (String, Table) {
    let column = random.choose(&LEFT[..4]);
    let mut value = cell(random, column, odd);
    while matches!(value, Value::Null) {
        value = cell(random, column, odd);
    }
    let (word, comparison) = random.choose(&[
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<", Comparison::Less),
        ("<=", Comparison::LessOrEqual),
        (">", Comparison::Greater),
        (">=", Comparison::GreaterOrEqual),
    ]);
    let args = list([text(column), text(word), json(&value)]);
    let predicate =
        ModelExpr::Compare(comparison, Box::new(ModelExpr::column(column)), Box::new(ModelExpr::Literal(value)));
    (args, ops::filter(left, &[predicate]))
}

fn case(random: &mut Random) -> String {
    let odd = random.below(3) == 0;
    let (left, right) = (table(random, &LEFT, odd), table(random, &RIGHT, odd));
    let (name, (args, result)) = match random.below(10) {
        0 => ("filter", filtered(random, &left, odd)),
        1 => ("sort", sorted(random, &left)),
        2 | 3 => ("group", grouped(random, &left)),
        4 => ("unique", ("null".into(), ops::unique(&left))),
        5 => {
            let by = random.choose(&["k", "g"]);
            match random.below(2) {
                0 => ("first_by", (text(by), ops::first_by(&left, &[by]))),
                _ => ("last_by", (text(by), ops::last_by(&left, &[by]))),
            }
        }
        6 => ("natural_join", joined(random, &left, &right)),
        7 => ("join_asof", joined_asof(random, &left, &right)),
        8 => {
            let (offset, length) = (random.below(8) as i64, random.below(8));
            (("slice"), (format!("[{offset}, {length}]"), ops::slice(&left, offset, Some(length))))
        }
        _ => ("compute", computed(random, &left)),
    };
    format!(
        "{{\"operation\": {}, \"args\": {args}, \"odd\": {odd}, \"left\": {}, \"right\": {}, \"result\": {}}}",
        text(name),
        shown(&left),
        shown(&right),
        shown(&result)
    )
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let (many, seed) = (numbers.next().unwrap_or(100), numbers.next().unwrap_or(0));
    let mut random = Random(seed);
    (0..many).for_each(|_| println!("{}", case(&mut random)));
}
