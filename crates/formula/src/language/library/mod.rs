//! The functions that formulas know by name: a closed list.
//!
//! `x.f(a)` is `f(x, a)`. A function either is a declared one under a name that its declaration has for formulas, or is
//! written out here in terms of others.

pub(crate) mod list;
mod number;
pub(crate) mod random;
mod text;
mod time;

use arrow_schema::DataType;

use crate::eval::functions::declared::{ANY, Subject};
use crate::eval::functions::formula_names;
use crate::tree::expr::Expr;
use crate::tree::function::Function;

/// Functions that are written out, by subject.
const WRITTEN: [(Subject, &[Entry]); 3] =
    [(Subject::Conditions, number::ENTRIES), (Subject::Text, text::ENTRIES), (Subject::Time, time::ENTRIES)];

/// What takes arguments of its own kind: names of types, of columns.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("nullValueFor", "nullValueFor(x)", "null of that type"),
    ("cast", "cast(x, Int64)", "another type; `strict=false` gives null where it does not fit"),
    ("col", "col(`n`)", "the column of that name"),
];

/// A function of formulas by its name, with an example, and what it gives.
#[derive(Clone, Copy, Debug)]
pub struct FormulaFunction {
    /// The part of the documentation that tells of it.
    pub subject: Subject,
    /// The name.
    pub name: &'static str,
    /// A formula with it, over the row of the documentation's example.
    pub example: &'static str,
    /// What it gives, in words.
    pub gives: &'static str,
}

/// A function by its name, with the least and the greatest number of its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    make: Make,
    example: &'static str,
    gives: &'static str,
}

#[derive(Clone, Copy)]
enum Make {
    Call(Function),
    Write(fn(Vec<Expr>) -> Result<Expr, String>),
}

const fn entry(
    name: &'static str,
    least: usize,
    most: usize,
    make: Make,
    example: &'static str,
    gives: &'static str,
) -> Entry {
    Entry { name, least, most, make, example, gives }
}

/// A function of the tree of so many arguments, under a name that suits another subject than its own.
const fn same(
    name: &'static str,
    count: usize,
    function: Function,
    example: &'static str,
    gives: &'static str,
) -> Entry {
    entry(name, count, count, Make::Call(function), example, gives)
}

impl Entry {
    /// The call with these arguments, or what is wrong with them.
    pub(crate) fn make(&self, args: Vec<Expr>) -> Result<Expr, String> {
        if args.len() < self.least || args.len() > self.most {
            return Err(format!("{} takes {}, not {}", self.name, self.takes(), args.len()));
        }
        match self.make {
            Make::Call(function) => Ok(call(function, args)),
            Make::Write(write) => write(args),
        }
    }

    fn takes(&self) -> String {
        let arguments = |count: usize| if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        match (self.least, self.most) {
            (least, most) if least == most => arguments(least),
            (least, ANY) => format!("at least {}", arguments(least)),
            (least, most) => format!("{least} to {}", arguments(most)),
        }
    }
}

/// All functions that are no functions of lists: those that are declared, and those that are written out.
fn entries() -> impl Iterator<Item = (Subject, Entry)> {
    let declared = formula_names().filter(|(_, _, name)| name.of_list.is_none()).map(|(subject, spec, name)| {
        let (least, most) = name.arity(spec);
        (subject, entry(name.name, least, most, Make::Call(name.function(spec)), name.example, name.gives))
    });
    declared.chain(WRITTEN.iter().flat_map(|(subject, entries)| entries.iter().map(|entry| (*subject, *entry))))
}

/// The function called `name`.
pub(crate) fn function(name: &str) -> Option<Entry> {
    entries().map(|(_, entry)| entry).find(|entry| entry.name == name)
}

/// All functions that formulas know, each once by each of its names.
pub fn formula_functions() -> impl Iterator<Item = FormulaFunction> {
    let told = |subject, (name, example, gives)| FormulaFunction { subject, name, example, gives };
    entries()
        .map(move |(subject, entry)| told(subject, (entry.name, entry.example, entry.gives)))
        .chain(SPECIAL.iter().map(move |row| told(Subject::Conditions, *row)))
        .chain(list::functions().map(move |row| told(Subject::Lists, row)))
        .chain(random::DRAWS.iter().map(move |draw| told(Subject::Random, (draw.name, draw.example, draw.gives))))
        .filter(|function| !function.example.is_empty())
}

/// All names of functions that formulas know.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    formula_functions().map(|function| -> &'a str { function.name })
}

fn call(function: Function, args: Vec<Expr>) -> Expr {
    Expr::Call { function, args }
}

fn one(function: Function, arg: Expr) -> Expr {
    call(function, vec![arg])
}

fn two(function: Function, a: Expr, b: Expr) -> Expr {
    Expr::joined(function, vec![a, b])
}

fn int(value: i64) -> Expr {
    Expr::literal(value)
}

fn cast(input: Expr, to: DataType) -> Expr {
    Expr::Cast { input: std::sync::Arc::new(input), to, strict: true }
}

fn choice(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    Expr::When { branches: vec![(condition, then)], otherwise: Some(std::sync::Arc::new(otherwise)) }
}

fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into().unwrap_or_else(|_| unreachable!("the number of arguments was checked"))
}

fn with<const N: usize>(args: Vec<Expr>, write: impl FnOnce([Expr; N]) -> Expr) -> Result<Expr, String> {
    Ok(write(take(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_take_their_own_arguments() {
        let all: Vec<Entry> = entries().map(|(_, entry)| entry).collect();
        for (index, entry) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != entry.name), "{} stands twice", entry.name);
            for count in entry.least..=entry.most.min(entry.least + 2) {
                let args = vec![Expr::literal("UTC"); count];
                assert!(entry.make(args).is_ok(), "{} of {count}", entry.name);
            }
            let many = entry.most.saturating_add(1).min(entry.least + 9);
            let wrong = if entry.least > 0 { 0 } else { many };
            let message = entry.make(vec![Expr::literal("x"); wrong]).unwrap_err();
            assert!(message.contains(entry.name) && message.contains(&format!("not {wrong}")), "{message}");
        }
    }
}
